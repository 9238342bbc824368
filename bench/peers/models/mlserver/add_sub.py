# add-sub for MLServer.
from mlserver import MLModel
from mlserver.codecs import NumpyCodec
from mlserver.types import InferenceResponse


class AddSub(MLModel):
    async def load(self):
        return True

    async def predict(self, payload):
        a, b = (NumpyCodec.decode_input(tensor) for tensor in payload.inputs)
        outputs = [NumpyCodec.encode_output("add", a + b), NumpyCodec.encode_output("sub", a - b)]
        return InferenceResponse(id=payload.id, model_name=self.name, outputs=outputs)
