# add-sub on LitServe, whose requests and answers are JSON of their own: litserve_server.py PORT.
import sys

import litserve as ls
import numpy as np


class AddSub(ls.LitAPI):
    def setup(self, device):
        pass

    def decode_request(self, request):
        return [np.asarray(request[name], np.float32) for name in ("a", "b")]

    def predict(self, x):
        a, b = x
        return a + b, a - b

    def encode_response(self, output):
        return {name: values.tolist() for name, values in zip(("add", "sub"), output)}


if __name__ == "__main__":
    server = ls.LitServer(AddSub(), accelerator="cpu", workers_per_device=1)
    server.run(host="127.0.0.1", port=int(sys.argv[1]), generate_client_file=False, log_level="error")
