# The models of the comparison with a running Triton: sums and differences for `addsub`, as many responses as it is asked for
# for `count`, which is decoupled, and identities otherwise, of which `slow` takes its time.
import json
import time

import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def initialize(self, args):
        self.name = json.loads(args["model_config"])["name"]

    def execute(self, requests):
        if self.name == "slow":
            time.sleep(0.5)
        if self.name == "count":
            return self.stream(requests)
        return [pb_utils.InferenceResponse(self.outputs(request)) for request in requests]

    def outputs(self, request):
        if self.name == "addsub":
            a, b = (pb_utils.get_input_tensor_by_name(request, name).as_numpy() for name in ("a", "b"))
            return [pb_utils.Tensor("add", a + b), pb_utils.Tensor("sub", a - b)]
        return [pb_utils.Tensor("y", pb_utils.get_input_tensor_by_name(request, "x").as_numpy())]

    def stream(self, requests):
        for request in requests:
            sender = request.get_response_sender()
            for number in range(int(pb_utils.get_input_tensor_by_name(request, "n").as_numpy()[0])):
                tensor = pb_utils.Tensor("i", np.array([number], dtype=np.int32))
                sender.send(pb_utils.InferenceResponse([tensor]))
            sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
