# Identity of two tensors for Triton's Python backend.
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        return [self.answer(request) for request in requests]

    def answer(self, request):
        a, b = (pb_utils.get_input_tensor_by_name(request, name).as_numpy() for name in ("a", "b"))
        return pb_utils.InferenceResponse([pb_utils.Tensor("c", a), pb_utils.Tensor("d", b)])
