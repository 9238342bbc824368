# The model of the comparison for Triton's Python backend: 5 ms a batch and 1 ms a row. Each answer tells the execution
# that it came from by a number that no other execution has, and so does the error for what it refuses.
import os
import time

import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def initialize(self, args):
        self.next_execution = os.getpid() * 1_000_000

    def execute(self, requests):
        asked = [pb_utils.get_input_tensor_by_name(request, "x").as_numpy() for request in requests]
        execution = self.next_execution
        self.next_execution += 1
        time.sleep((5 + sum(len(x) for x in asked)) / 1000)
        return [self.answer(x, execution) for x in asked]

    def answer(self, x, execution):
        if x[0, 1] < 0:
            return pb_utils.InferenceResponse(error=pb_utils.TritonError(f"refused by execution {execution}"))
        return pb_utils.InferenceResponse([pb_utils.Tensor("execution", np.full((len(x), 1), execution, np.int64))])
