# add-sub, with batching and without, and identity as PyTriton serves them: pytriton_server.py HTTP GRPC METRICS, the ports to listen on.
import sys

import numpy as np
from pytriton.decorators import batch
from pytriton.model_config import ModelConfig, Tensor
from pytriton.triton import Triton, TritonConfig

http_port, grpc_port, metrics_port = (int(port) for port in sys.argv[1:])


@batch
def add_sub(a, b):
    return {"add": a + b, "sub": a - b}


@batch
def identity(a, b):
    return {"c": a, "d": b}


def add_sub_alone(requests):
    return [{"add": one["a"] + one["b"], "sub": one["a"] - one["b"]} for one in requests]


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
    triton.bind(
        model_name="AddSubAlone",
        infer_func=add_sub_alone,
        inputs=[Tensor(name=name, dtype=np.float32, shape=(1, 16)) for name in ("a", "b")],
        outputs=[Tensor(name=name, dtype=np.float32, shape=(1, 16)) for name in ("add", "sub")],
        config=ModelConfig(batching=False),
    )
    triton.bind(
        model_name="Identity",
        infer_func=identity,
        inputs=tensors("a", "b"),
        outputs=tensors("c", "d"),
        config=ModelConfig(max_batch_size=64),
    )
    triton.serve()
