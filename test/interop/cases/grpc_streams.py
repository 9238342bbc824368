"""tritonclient.grpc, the synchronous client, ModelStreamInfer."""

import contextlib
import queue

import numpy as np
import tritonclient.grpc as grpc
from support import add_sub_inputs, expect_add_sub, expect_equal, expect_in, grpc_client, tensor_of


@contextlib.contextmanager
def _stream(**options):
    """A client with an open stream, and a function that waits for the next (result, error)."""
    answers = queue.Queue()
    with grpc_client() as client:
        client.start_stream(callback=lambda result, error: answers.put((result, error)), **options)
        try:
            yield client, lambda: answers.get(timeout=20)
        finally:
            client.stop_stream(cancel_requests=True)


def _ask(client, n, model="Count", **options):
    client.async_stream_infer(model, [tensor_of(grpc, "n", [[n]], np.int32)], **options)


def _final(result):
    return result.get_response().parameters["triton_final_response"].bool_param


def an_ordinary_model_answers_once_and_finally():
    with _stream() as (client, answer):
        client.async_stream_infer("AddSub", add_sub_inputs(grpc), request_id="7")
        result, error = answer()
        expect_equal(error, None)
        expect_add_sub(result)
        expect_equal((result.get_response().id, _final(result)), ("7", True))


def ordinary_models_answer_in_the_order_of_the_requests():
    with _stream() as (client, answer):
        for milliseconds in (300, 1, 100):
            client.async_stream_infer("Slow", [tensor_of(grpc, "milliseconds", [[milliseconds]], np.int32)])
        expect_equal([answer()[0].as_numpy("waited").item() for _ in range(3)], [300, 1, 100])


def a_decoupled_model_answers_as_often_as_it_likes():
    with _stream() as (client, answer):
        _ask(client, 4, request_id="count")
        results = [answer()[0] for _ in range(4)]
        expect_equal([result.as_numpy("i").item() for result in results], [0, 1, 2, 3])
        expect_equal({result.get_response().id for result in results}, {"count"})


def the_empty_final_response_comes_when_it_is_asked_for():
    with _stream() as (client, answer):
        _ask(client, 2, request_id="r", enable_empty_final_response=True)
        results = [answer()[0] for _ in range(3)]
        expect_equal([_final(result) for result in results], [False, False, True])
        last = results[-1].get_response()
        expect_equal((last.id, last.model_name, len(last.outputs)), ("r", "Count", 0))


def no_response_at_all_is_only_the_empty_final_one():
    with _stream() as (client, answer):
        _ask(client, 0, enable_empty_final_response=True)
        expect_equal(_final(answer()[0]), True)


def an_error_after_responses_comes_on_the_stream_which_stays_open():
    with _stream() as (client, answer):
        _ask(client, 2, "CountAndFail")
        expect_equal([answer()[0].as_numpy("i").item() for _ in range(2)], [0, 1])
        result, error = answer()
        expect_equal(result, None)
        expect_in("counted enough", error.message())
        client.async_stream_infer("AddSub", add_sub_inputs(grpc))
        expect_add_sub(answer()[0])


def a_bad_request_is_an_error_on_the_stream_which_stays_open():
    with _stream() as (client, answer):
        client.async_stream_infer("Nothing", add_sub_inputs(grpc))
        expect_in("Request for unknown model: 'Nothing' is not found", answer()[1].message())
        client.async_stream_infer("AddSub", add_sub_inputs(grpc)[:1])
        expect_in("expected 2 inputs but got 1 inputs for model 'AddSub'", answer()[1].message())
        client.async_stream_infer("AddSub", add_sub_inputs(grpc))
        expect_add_sub(answer()[0])


def with_triton_grpc_error_an_error_ends_the_stream_with_its_status():
    with _stream(headers={"triton_grpc_error": "true"}) as (client, answer):
        _ask(client, 0, "CountAndFail")
        result, error = answer()
        expect_equal((result, error.status()), (None, "StatusCode.UNAVAILABLE"))
        expect_in("counted enough", error.message())


def requests_to_several_models_share_a_stream():
    with _stream() as (client, answer):
        _ask(client, 3)
        client.async_stream_infer("AddSub", add_sub_inputs(grpc))
        _ask(client, 2)
        names = sorted(answer()[0].get_response().model_name for _ in range(6))
        expect_equal(names, ["AddSub"] + ["Count"] * 5)


def a_thousand_responses_arrive_in_order():
    with _stream() as (client, answer):
        _ask(client, 1000)
        expect_equal([answer()[0].as_numpy("i").item() for _ in range(1000)], list(range(1000)))


def stopping_with_cancellation_ends_an_endless_request():
    with _stream() as (client, answer):
        _ask(client, 0, "Forever")
        expect_equal(answer()[0].as_numpy("i").item(), 0)
        client.stop_stream(cancel_requests=True)
        expect_equal(client.is_server_live(), True)


def a_stream_timeout_ends_the_stream():
    with _stream(stream_timeout=0.3) as (client, answer):
        _ask(client, 0, "Forever")
        while True:
            result, error = answer()
            if error is not None:
                break
        expect_equal((result, error.status()), (None, "StatusCode.DEADLINE_EXCEEDED"))


def a_compressed_stream_works():
    with _stream(compression_algorithm="gzip") as (client, answer):
        client.async_stream_infer("AddSub", add_sub_inputs(grpc))
        expect_add_sub(answer()[0])


def parameters_of_requests_and_responses_pass_through_a_stream():
    with _stream(headers={"interop-h": "v"}) as (client, answer):
        client.async_stream_infer("Parameters", [tensor_of(grpc, "x", [[1]], np.int32)], parameters={"p": 1})
        result, _ = answer()
        expect_equal(result.as_numpy("text")[0, 0], b'{"interop-h":"v","p":1}')
        expect_equal(result.get_response().parameters["half"].double_param, 0.5)
