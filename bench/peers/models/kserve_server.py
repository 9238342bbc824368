# add-sub on KServe's Python server: kserve_server.py PORT.
import logging
import sys

from kserve import InferOutput, InferResponse, Model, ModelServer


class AddSub(Model):
    def __init__(self):
        super().__init__("AddSub")
        self.ready = True

    async def predict(self, payload, headers=None, response_headers=None):
        a, b = (tensor.as_numpy() for tensor in payload.inputs)
        outputs = []
        for name, values in (("add", a + b), ("sub", a - b)):
            output = InferOutput(name=name, shape=list(values.shape), datatype="FP32")
            output.set_data_from_numpy(values, binary_data=False)
            outputs.append(output)
        return InferResponse(response_id=payload.id or "", model_name=self.name, infer_outputs=outputs)


if __name__ == "__main__":
    logging.disable(logging.INFO)
    sys.argv, port = sys.argv[:1], int(sys.argv[1])
    ModelServer(http_port=port, enable_grpc=False, workers=1, access_log_format=None).start([AddSub()])
