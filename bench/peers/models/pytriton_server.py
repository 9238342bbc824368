# add-sub as PyTriton serves it: pytriton_server.py HTTP GRPC METRICS, the ports to listen on.
import sys

import numpy as np
from pytriton.decorators import batch
from pytriton.model_config import ModelConfig, Tensor
from pytriton.triton import Triton, TritonConfig

http_port, grpc_port, metrics_port = (int(port) for port in sys.argv[1:])


@batch
def add_sub(a, b):
    return {"add": a + b, "sub": a - b}


def tensors(*names):
    return [Tensor(name=name, dtype=np.float32, shape=(16,)) for name in names]


config = TritonConfig(
    http_address="127.0.0.1", http_port=http_port, grpc_address="127.0.0.1", grpc_port=grpc_port, metrics_port=metrics_port
)
with Triton(config=config) as triton:
    triton.bind(
        model_name="AddSub",
        infer_func=add_sub,
        inputs=tensors("a", "b"),
        outputs=tensors("add", "sub"),
        config=ModelConfig(max_batch_size=64),
    )
    triton.serve()
