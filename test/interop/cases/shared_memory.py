"""System shared memory with tritonclient.utils.shared_memory, over both protocols."""

import contextlib
import os

import numpy as np
import tritonclient.grpc
import tritonclient.http
import tritonclient.utils.shared_memory as shm
from support import add_sub_inputs, expect_equal, expect_same, grpc_client, http_client, refused
from tritonclient.utils import InferenceServerException, serialize_byte_tensor, serialized_byte_size

BOTH = ((tritonclient.http, http_client), (tritonclient.grpc, grpc_client))


@contextlib.contextmanager
def _region(client, name, byte_size, registered=True):
    """A new region of this size, which the server knows under the same name."""
    key = f"/tstriton-interop-{os.getpid()}-{name}"
    handle = shm.create_shared_memory_region(name, key, byte_size)
    try:
        if registered:
            client.register_system_shared_memory(name, key, byte_size)
        yield handle, key
    finally:
        with contextlib.suppress(InferenceServerException):
            client.unregister_system_shared_memory(name)
        shm.destroy_shared_memory_region(handle)


def _status(client):
    status = client.get_system_shared_memory_status()
    if isinstance(status, list):
        return {one["name"]: one["byte_size"] for one in status}
    return {name: one.byte_size for name, one in status.regions.items()}


def inputs_are_read_from_and_outputs_written_to_shared_memory():
    a, b = np.float32([[1, 2, 3, 4]]), np.float32([[10, 20, 30, 40]])
    for module, connect in BOTH:
        with connect() as client, _region(client, "in", 32) as (source, _), _region(client, "out", 64) as (sink, _):
            shm.set_shared_memory_region(source, [a, b])
            inputs = [module.InferInput(name, [1, 4], "FP32") for name in "ab"]
            inputs[0].set_shared_memory("in", 16)
            inputs[1].set_shared_memory("in", 16, offset=16)
            outputs = [module.InferRequestedOutput(name) for name in ("add", "sub")]
            outputs[0].set_shared_memory("out", 16)
            outputs[1].set_shared_memory("out", 16, offset=32)
            result = client.infer("AddSub", inputs, outputs=outputs)
            output = result.get_output("sub")
            shape = output["shape"] if isinstance(output, dict) else list(output.shape)
            expect_equal(shape, [1, 4])
            expect_same(shm.get_contents_as_numpy(sink, np.float32, [1, 4]), a + b)
            expect_same(shm.get_contents_as_numpy(sink, np.float32, [1, 4], offset=32), a - b)
            expect_same(shm.get_contents_as_numpy(sink, np.float32, [1, 4], offset=16), np.float32([[0, 0, 0, 0]]))


def shared_memory_and_ordinary_tensors_mix():
    for module, connect in BOTH:
        with connect() as client, _region(client, "mix", 12) as (source, _):
            shm.set_shared_memory_region(source, [np.float32([[1, 2, 3]])])
            shared = module.InferInput("a", [1, 3], "FP32")
            shared.set_shared_memory("mix", 12)
            result = client.infer("AddSub", [shared, add_sub_inputs(module)[1]])
            expect_same(result.as_numpy("add"), np.float32([[11, 22, 33]]))


def strings_pass_through_shared_memory():
    array = np.array([[b"", b"\x00\xff", "ž".encode()]], dtype=np.object_)
    serialized = serialize_byte_tensor(array)
    size = serialized_byte_size(serialized)
    for module, connect in BOTH:
        with connect() as client, _region(client, "from", size) as (source, _), _region(client, "to", 64) as (sink, _):
            shm.set_shared_memory_region(source, [serialized])
            tensor = module.InferInput("x", [1, 3], "BYTES")
            tensor.set_shared_memory("from", size)
            output = module.InferRequestedOutput("y")
            output.set_shared_memory("to", 64)
            client.infer("IdentityBYTES", [tensor], outputs=[output])
            expect_equal(shm.get_contents_as_numpy(sink, np.object_, [1, 3]).tolist(), array.tolist())


def the_status_lists_what_is_registered():
    for _, connect in BOTH:
        with connect() as client, _region(client, "one", 16), _region(client, "two", 32):
            expect_equal(_status(client), {"one": 16, "two": 32})
            client.unregister_system_shared_memory("one")
            expect_equal(_status(client), {"two": 32})
            client.unregister_system_shared_memory()
            expect_equal(_status(client), {})


def what_does_not_fit_is_refused_in_tritons_words():
    for module, connect in BOTH:
        with connect() as client, _region(client, "small", 16) as (_, key):
            with refused("shared memory region 'small' already in manager"):
                client.register_system_shared_memory("small", key, 16)
            with refused("Unable to open shared memory region: '/tstriton-interop-nothing'"):
                client.register_system_shared_memory("nothing", "/tstriton-interop-nothing", 16)
            with refused("Unable to find system shared memory region: 'nothing'"):
                client.get_system_shared_memory_status("nothing")
            client.unregister_system_shared_memory("nothing")
            tensor = module.InferInput("x", [1, 4], "FP32")
            tensor.set_shared_memory("nothing", 16)
            with refused("Unable to find shared memory region: 'nothing'"):
                client.infer("IdentityFP32", [tensor])
            tensor.set_shared_memory("small", 16, offset=8)
            with refused("Invalid offset + byte size for shared memory region: 'small'"):
                client.infer("IdentityFP32", [tensor])


def an_output_that_does_not_fit_its_region_is_refused():
    for module, connect in BOTH:
        with connect() as client, _region(client, "tight", 8):
            output = module.InferRequestedOutput("add")
            output.set_shared_memory("tight", 8)
            with refused("shared memory size specified with the request for output 'add'"):
                client.infer("AddSub", add_sub_inputs(module), outputs=[output])


def keys_cannot_leave_the_shared_memory_folder():
    for _, connect in BOTH:
        with connect() as client:
            for key in ("/", "/../../etc/hostname", "../../etc/hostname"):
                try:
                    client.register_system_shared_memory("outside", key, 1)
                except InferenceServerException:
                    continue
                raise AssertionError(f"the key {key} was accepted")


def shared_memory_is_refused_unless_it_is_allowed():
    for connect, headers in (
        (http_client, {"triton-access-token": "interop-token"}),
        (grpc_client, {"triton-grpc-protocol-triton-access-token": "interop-token"}),
    ):
        with connect("guarded") as client, refused("Client shared memory is disabled"):
            client.register_system_shared_memory("any", "/any", 16, headers=headers)


def cuda_shared_memory_is_refused_and_its_status_is_empty():
    for _, connect in BOTH:
        with connect() as client:
            status = client.get_cuda_shared_memory_status(as_json=True) if connect is grpc_client else client.get_cuda_shared_memory_status()
            expect_equal(status or [], [])
            client.unregister_cuda_shared_memory()
            try:
                client.register_cuda_shared_memory("cuda", b"AAAA", 0, 16)
            except InferenceServerException:
                continue
            raise AssertionError("CUDA shared memory was accepted")
