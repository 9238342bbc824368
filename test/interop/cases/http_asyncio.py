"""tritonclient.http.aio, the asyncio client."""

import asyncio

import numpy as np
import tritonclient.http.aio as http
from support import (
    VALUES, add_sub_inputs, address, expect_add_sub, expect_equal, expect_in, expect_same, identity_input, refused, tensor_of,
)


def _client(**options):
    return http.InferenceServerClient(address("http"), **options)


async def every_datatype_survives_as_binary():
    async with _client() as client:
        for datatype in VALUES:
            rows, tensor = identity_input(http, datatype)
            expect_same((await client.infer(f"Identity{datatype}", [tensor])).as_numpy("y"), rows)


async def json_and_compression_work():
    async with _client() as client:
        expect_add_sub(await client.infer("AddSub", add_sub_inputs(http, binary_data=False)))
        for algorithm in ("gzip", "deflate"):
            options = {"request_compression_algorithm": algorithm, "response_compression_algorithm": algorithm}
            expect_add_sub(await client.infer("AddSub", add_sub_inputs(http), **options))


async def a_hundred_requests_at_once_are_all_answered():
    async with _client(conn_limit=16) as client:
        asked = (client.infer("AddSub", add_sub_inputs(http, number)) for number in range(100))
        for number, result in enumerate(await asyncio.gather(*asked)):
            expect_add_sub(result, number)


async def a_cancelled_request_leaves_the_server_serving():
    async with _client() as client:
        task = asyncio.create_task(client.infer("Slow", [tensor_of(http, "milliseconds", [[5000]], np.int32)]))
        await asyncio.sleep(0.1)
        task.cancel()
        expect_equal(await asyncio.gather(task, return_exceptions=True) != [], True)
        expect_add_sub(await client.infer("AddSub", add_sub_inputs(http)))


async def parameters_and_headers_reach_the_callable():
    async with _client() as client:
        inputs = [tensor_of(http, "x", [[1]], np.int32)]
        result = await client.infer("Parameters", inputs, parameters={"p": 1}, headers={"interop-h": "v"})
        expect_equal(result.as_numpy("text")[0, 0], b'{"interop-h":"v","p":1}')


async def management_answers():
    async with _client() as client:
        expect_equal((await client.is_server_live(), await client.is_server_ready(), await client.is_model_ready("AddSub")), (True, True, True))
        expect_equal((await client.get_server_metadata())["name"], "triton")
        expect_equal((await client.get_model_metadata("AddSub"))["name"], "AddSub")
        expect_equal((await client.get_model_config("AddSub"))["max_batch_size"], 16)
        expect_equal((await client.get_inference_statistics("AddSub"))["model_stats"][0]["name"], "AddSub")
        expect_in("AddSub", [model["name"] for model in await client.get_model_repository_index()])
        expect_in("log_verbose_level", await client.get_log_settings())
        expect_in("trace_rate", await client.get_trace_settings())
        expect_equal(await client.get_system_shared_memory_status(), [])


async def errors_carry_tritons_text():
    async with _client() as client:
        with refused("Request for unknown model: 'Nothing' is not found"):
            await client.infer("Nothing", add_sub_inputs(http))
        with refused("the callable failed"):
            await client.infer("Fails", [tensor_of(http, "how", [[b"throw"]], np.object_)])
