"""PyTriton 0.7's five clients."""

import asyncio
import contextlib
import time

import numpy as np
from pytriton.client import (
    AsyncioDecoupledModelClient, AsyncioModelClient, DecoupledModelClient, FuturesModelClient, ModelClient,
)
from pytriton.client.exceptions import (
    PyTritonClientClosedError, PyTritonClientInferenceServerError, PyTritonClientModelDoesntSupportBatchingError,
    PyTritonClientTimeoutError,
)
from support import VALUES, address, expect_equal, expect_in, expect_same
from tritonclient.utils import InferenceServerException

A, B = np.float32([1, 2, 3]), np.float32([10, 20, 30])


def _url(protocol, server="open"):
    return f"{protocol}://{address(protocol, server)}"


def _urls():
    return [_url("http"), _url("grpc")]


def _expect_sums(result, shape=(3,)):
    expect_equal(sorted(result), ["add", "sub"])
    expect_same(result["add"].reshape(-1), np.float32([11, 22, 33]))
    expect_equal((result["add"].shape, result["sub"].shape), (shape, shape))


@contextlib.contextmanager
def _raises(kind, message):
    try:
        yield
    except kind as error:
        expect_in(message, str(error))
        return
    raise AssertionError(f"expected {kind.__name__}, got no error")


def model_client_sends_samples_and_batches_by_position_and_by_name():
    for url in _urls():
        with ModelClient(url, "AddSub") as client:
            _expect_sums(client.infer_sample(A, B))
            _expect_sums(client.infer_sample(b=B, a=A))
            _expect_sums(client.infer_batch(A[None], B[None]), (1, 3))
            _expect_sums(client.infer_batch(a=A[None], b=B[None]), (1, 3))


def model_client_without_lazy_init_waits_in_its_constructor():
    for url in _urls():
        with ModelClient(url, "AddSub", lazy_init=False, init_timeout_s=10) as client:
            _expect_sums(client.infer_sample(A, B))


def model_client_carries_every_datatype_of_numpy():
    for url in _urls():
        for datatype, values in VALUES.items():
            if datatype == "BF16":  # numpy has none
                continue
            with ModelClient(url, f"Identity{datatype}") as client:
                expect_same(client.infer_sample(values)["y"], values)


def model_client_reads_the_configuration():
    for url in _urls():
        with ModelClient(url, "AddSub") as client:
            config = client.model_config
            expect_equal((config.model_name, config.max_batch_size, config.batching, config.decoupled), ("AddSub", 16, True, False))
            expect_equal([(one.name, one.shape, one.dtype) for one in config.inputs], [("a", (-1,), np.float32), ("b", (-1,), np.float32)])
            expect_equal(config.response_cache, None)
            expect_equal(client.is_batching_supported, True)
            client.wait_for_model(timeout_s=10)
            client.wait_for_server(timeout_s=10)


def model_client_asks_for_a_version():
    for url in _urls():
        with ModelClient(url, "Versions", "1") as client:
            expect_equal(client.infer_sample(np.int32([0]))["version"].tolist(), [1])


def model_client_sends_parameters_and_headers():
    for url in _urls():
        with ModelClient(url, "Parameters") as client:
            result = client.infer_sample(np.int32([0]), parameters={"p": 1, "q": True, "r": "ž"}, headers={"interop-h": "v"})
            expect_equal(result["text"][0].decode(), '{"interop-h":"v","p":1,"q":true,"r":"ž"}')


def model_client_leaves_optional_inputs_out():
    for url in _urls():
        with ModelClient(url, "Scale") as client:
            expect_equal(client.infer_sample(x=A)["y"].tolist(), [2, 4, 6])


def model_client_uses_models_without_batching():
    for url in _urls():
        with ModelClient(url, "Unbatched") as client:
            expect_same(client.infer_sample(A[None])["y"], A[None])
            with _raises(PyTritonClientModelDoesntSupportBatchingError, "doesn't support batching"):
                client.infer_batch(A[None])


def model_client_tells_the_errors_of_the_server():
    for url in _urls():
        with ModelClient(url, "Fails") as client:
            with _raises(PyTritonClientInferenceServerError, "the callable failed"):
                client.infer_sample(np.array([b"throw"], dtype=np.object_))
        with ModelClient(url, "AddSub") as client:
            with _raises(PyTritonClientInferenceServerError, "expected 2 inputs but got 1 inputs for model 'AddSub'"):
                client.infer_sample(a=A)
            with _raises(PyTritonClientInferenceServerError, "inference request batch-size must be <= 16 for 'AddSub'"):
                client.infer_batch(np.zeros([17, 1], np.float32), np.zeros([17, 1], np.float32))


def model_client_refuses_a_decoupled_model():
    for url in _urls():
        with ModelClient(url, "Count") as client:
            with _raises(PyTritonClientInferenceServerError, "Use DecoupledModelClient instead."):
                client.infer_sample(np.int32([1]))


def model_client_times_out():
    for url in _urls():
        with ModelClient(url, "Slow", inference_timeout_s=0.5) as client, _raises(PyTritonClientTimeoutError, "Timeout occurred"):
            client.infer_sample(np.int32([5000]))


def model_client_waits_for_a_model_that_never_comes_only_so_long():
    for url in _urls():
        with ModelClient(url, "Nothing", init_timeout_s=1.5) as client:
            with _raises(PyTritonClientTimeoutError, "Waiting for model Nothing/<latest> to be ready timed out."):
                client.infer_sample(A)


def model_client_is_closed_after_close():
    client = ModelClient(_url("http"), "AddSub")
    _expect_sums(client.infer_sample(A, B))
    client.close()
    with _raises(PyTritonClientClosedError, "ModelClient is closed"):
        client.infer_sample(A, B)


def model_client_is_made_from_another():
    with ModelClient(_url("http"), "AddSub") as first:
        _expect_sums(first.infer_sample(A, B))
        with ModelClient.from_existing_client(first) as second:
            _expect_sums(second.infer_sample(A, B))


def model_client_loads_and_unloads_models():
    for protocol in ("http", "grpc"):
        with ModelClient(_url(protocol, "managed"), "Spare", init_timeout_s=10) as client:
            client.load_model()
            _expect_sums(client.infer_sample(A, B))
            client.unload_model()


def model_client_with_the_access_token_passes_and_without_is_refused():
    for protocol in ("http", "grpc"):
        with ModelClient(_url(protocol, "guarded"), "AddSub", access_token="interop-token") as client:
            _expect_sums(client.infer_sample(A, B))
            with _raises(InferenceServerException, "explicit model load / unload is not allowed"):
                client.load_model()
        for token in (None, "wrong"):
            with ModelClient(_url(protocol, "guarded"), "AddSub", access_token=token) as client:
                _expect_sums(client.infer_sample(A, B))
                with _raises(InferenceServerException, "restricted, expecting header"):
                    client.load_model()


async def asyncio_model_client_sends_samples_and_batches():
    for url in _urls():
        async with AsyncioModelClient(url, "AddSub") as client:
            _expect_sums(await client.infer_sample(A, B))
            _expect_sums(await client.infer_batch(a=A[None], b=B[None]), (1, 3))
            asked = (client.infer_sample(A + number, B) for number in range(32))
            for number, result in enumerate(await asyncio.gather(*asked)):
                expect_same(result["add"], A + number + B)
            expect_equal((await client.model_config).max_batch_size, 16)


async def asyncio_model_client_without_lazy_init_works():
    for url in _urls():
        async with AsyncioModelClient(url, "AddSub", lazy_init=False, init_timeout_s=10) as client:
            _expect_sums(await client.infer_sample(A, B))


async def asyncio_model_client_sends_parameters_and_headers():
    for url in _urls():
        async with AsyncioModelClient(url, "Parameters") as client:
            result = await client.infer_sample(np.int32([0]), parameters={"p": 1}, headers={"interop-h": "v"})
            expect_equal(result["text"][0].decode(), '{"interop-h":"v","p":1}')


async def asyncio_model_client_tells_the_errors_of_the_server():
    for url in _urls():
        async with AsyncioModelClient(url, "Fails") as client:
            with _raises(PyTritonClientInferenceServerError, "the callable failed"):
                await client.infer_sample(np.array([b"throw"], dtype=np.object_))


def futures_model_client_answers_many_calls():
    for url in _urls():
        workers = 8 if url.startswith("http") else 1  # over gRPC its further workers speak HTTP: a bug of 0.7
        with FuturesModelClient(url, "AddSub", max_workers=workers) as client:
            client.wait_for_model(10).result()
            for number, future in enumerate([client.infer_sample(A + number, B) for number in range(64)]):
                expect_same(future.result(timeout=20)["add"], A + number + B)
            _expect_sums(client.infer_batch(A[None], B[None]).result(timeout=20), (1, 3))
            expect_equal(client.model_config().result(timeout=20).model_name, "AddSub")


def futures_model_client_tells_the_errors_of_the_server():
    with FuturesModelClient(_url("http"), "Fails") as client:
        future = client.infer_sample(np.array([b"throw"], dtype=np.object_))
        with _raises(PyTritonClientInferenceServerError, "the callable failed"):
            future.result(timeout=20)


def decoupled_model_client_iterates_over_the_responses():
    with DecoupledModelClient(_url("grpc"), "Count") as client:
        expect_equal([one["i"].tolist() for one in client.infer_sample(np.int32([3]))], [[0], [1], [2]])
        expect_equal([one["i"].tolist() for one in client.infer_batch(np.int32([[2]]))], [[[0]], [[1]]])
        expect_equal(list(client.infer_sample(np.int32([0]))), [])


def decoupled_model_client_tells_an_error_after_responses():
    with DecoupledModelClient(_url("grpc"), "CountAndFail") as client:
        responses = client.infer_sample(np.int32([2]))
        expect_equal([next(responses)["i"].item() for _ in range(2)], [0, 1])
        with _raises(PyTritonClientInferenceServerError, "counted enough"):
            next(responses)


def decoupled_model_client_refuses_an_ordinary_model():
    with DecoupledModelClient(_url("grpc"), "AddSub") as client:
        with _raises(PyTritonClientInferenceServerError, "Model config is coupled. Use ModelClient instead."):
            list(client.infer_sample(A, B))


async def asyncio_decoupled_model_client_iterates_over_the_responses():
    async with AsyncioDecoupledModelClient(_url("grpc"), "Count") as client:
        expect_equal([one["i"].item() async for one in client.infer_sample(np.int32([3]))], [0, 1, 2])

        async def count(n):
            return [one["i"].item() async for one in client.infer_sample(np.int32([n]))]

        expect_equal(await asyncio.gather(*(count(n) for n in range(5))), [list(range(n)) for n in range(5)])


async def asyncio_decoupled_model_client_tells_an_error_after_responses():
    async with AsyncioDecoupledModelClient(_url("grpc"), "CountAndFail") as client:
        seen = []
        with _raises(PyTritonClientInferenceServerError, "counted enough"):
            async for one in client.infer_sample(np.int32([2])):
                seen.append(one["i"].item())
        expect_equal(seen, [0, 1])


def responses_come_as_they_are_made_and_not_at_the_end():
    with DecoupledModelClient(_url("grpc"), "Forever") as client:
        start = time.monotonic()
        responses = client.infer_sample(np.int32([1]))
        expect_equal([next(responses)["i"].item() for _ in range(3)], [0, 1, 2])
        expect_equal(time.monotonic() - start < 10, True)
        client._infer_client.stop_stream(cancel_requests=True)
