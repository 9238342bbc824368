"""tritonclient.grpc.aio, the asyncio client: unary calls and streams."""

import asyncio

import numpy as np
import tritonclient.grpc.aio as grpc
from support import VALUES, add_sub_inputs, address, expect_add_sub, expect_equal, expect_in, expect_same, identity_input, refused, tensor_of


def _client():
    return grpc.InferenceServerClient(address("grpc"))


async def _requests(*requests):
    for request in requests:
        yield request


def _count(n, model="Count"):
    return {"model_name": model, "inputs": [tensor_of(grpc, "n", [[n]], np.int32)]}


async def every_datatype_survives():
    async with _client() as client:
        for datatype in VALUES:
            rows, tensor = identity_input(grpc, datatype)
            expect_same((await client.infer(f"Identity{datatype}", [tensor])).as_numpy("y"), rows)


async def a_hundred_requests_at_once_are_all_answered():
    async with _client() as client:
        asked = (client.infer("AddSub", add_sub_inputs(grpc, number)) for number in range(100))
        for number, result in enumerate(await asyncio.gather(*asked)):
            expect_add_sub(result, number)


async def compression_parameters_and_headers_work():
    async with _client() as client:
        expect_add_sub(await client.infer("AddSub", add_sub_inputs(grpc), compression_algorithm="gzip"))
        inputs = [tensor_of(grpc, "x", [[1]], np.int32)]
        result = await client.infer("Parameters", inputs, parameters={"p": 1}, headers={"interop-h": "v"})
        expect_equal(result.as_numpy("text")[0, 0], b'{"interop-h":"v","p":1}')


async def a_deadline_that_passes_is_deadline_exceeded():
    async with _client() as client:
        with refused("Deadline Exceeded", "StatusCode.DEADLINE_EXCEEDED"):
            await client.infer("Slow", [tensor_of(grpc, "milliseconds", [[5000]], np.int32)], client_timeout=0.2)


async def management_answers():
    async with _client() as client:
        expect_equal((await client.is_server_live(), await client.is_server_ready(), await client.is_model_ready("AddSub")), (True, True, True))
        expect_equal((await client.get_server_metadata()).name, "triton")
        expect_equal((await client.get_model_metadata("AddSub")).name, "AddSub")
        expect_equal((await client.get_model_config("AddSub")).config.max_batch_size, 16)
        expect_equal((await client.get_inference_statistics("AddSub")).model_stats[0].name, "AddSub")
        expect_in("AddSub", [model.name for model in (await client.get_model_repository_index()).models])
        expect_in("log_verbose_level", (await client.get_log_settings()).settings)
        expect_in("trace_rate", (await client.get_trace_settings()).settings)
        expect_equal(len((await client.get_system_shared_memory_status()).regions), 0)


async def a_stream_gives_each_response_of_a_decoupled_model():
    async with _client() as client:
        answers = [(result.as_numpy("i").item(), error) async for result, error in client.stream_infer(_requests(_count(5)))]
        expect_equal(answers, [(i, None) for i in range(5)])


async def a_stream_serves_ordinary_models_in_order():
    async with _client() as client:
        slow = [{"model_name": "Slow", "inputs": [tensor_of(grpc, "milliseconds", [[ms]], np.int32)]} for ms in (200, 1, 50)]
        answers = [result.as_numpy("waited").item() async for result, _ in client.stream_infer(_requests(*slow))]
        expect_equal(answers, [200, 1, 50])


async def a_cancelled_stream_ends():
    async with _client() as client:
        stream = client.stream_infer(_requests(_count(0, "Forever")))
        seen = 0
        try:
            async for result, error in stream:
                expect_equal((result.as_numpy("i").item(), error), (seen, None))
                seen += 1
                if seen == 5:
                    stream.cancel()
        except asyncio.CancelledError:
            pass
        expect_equal(seen >= 5, True)
        expect_add_sub(await client.infer("AddSub", add_sub_inputs(grpc)))


async def a_stream_is_compressed_when_asked():
    async with _client() as client:
        stream = client.stream_infer(_requests(_count(3)), compression_algorithm="gzip")
        expect_equal([result.as_numpy("i").item() async for result, _ in stream], [0, 1, 2])
