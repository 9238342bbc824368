# The models of the comparison with a running Triton: sums and differences for `addsub`, identities otherwise, of which
# `slow` takes its time.
import json
import time

import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def initialize(self, args):
        self.name = json.loads(args["model_config"])["name"]

    def execute(self, requests):
        if self.name == "slow":
            time.sleep(0.5)
        return [pb_utils.InferenceResponse(self.outputs(request)) for request in requests]

    def outputs(self, request):
        if self.name == "addsub":
            a, b = (pb_utils.get_input_tensor_by_name(request, name).as_numpy() for name in ("a", "b"))
            return [pb_utils.Tensor("add", a + b), pb_utils.Tensor("sub", a - b)]
        return [pb_utils.Tensor("y", pb_utils.get_input_tensor_by_name(request, "x").as_numpy())]
