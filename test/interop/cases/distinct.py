"""tritonclient in all its forms, asking with requests that all differ at once: each gets its own answer, whole."""

import asyncio
import queue
import threading

import tritonclient.grpc as grpc
import tritonclient.grpc.aio as grpc_aio
import tritonclient.http as http
import tritonclient.http.aio as http_aio
from support import Question, address, expect_equal, grpc_client, http_client

REQUESTS = 240
THREADS = 6


def _over_http(module, question, number):
    """JSON now and then, compressed now and then."""
    # The client writes its own headers into the record that it is given.
    options = {"headers": dict(question.header), "request_id": question.id, "parameters": question.parameters}
    if number % 7 == 0 and question.is_small:
        options |= {"request_compression_algorithm": "gzip", "response_compression_algorithm": "deflate"}
    binary = not (number % 5 == 0 and question.is_small)
    outputs = [module.InferRequestedOutput(name, binary_data=binary) for name in ("y", "told")]
    return question.inputs(module, binary_data=binary), options | {"outputs": outputs}


def _over_grpc(question):
    return {"request_id": question.id, "parameters": question.parameters, "headers": dict(question.header)}


def requests_over_http_at_once_get_each_its_own_answer():
    with http_client(concurrency=16, network_timeout=60) as client:
        pending = []
        for number in range(REQUESTS):
            question = Question(number)
            inputs, options = _over_http(http, question, number)
            pending.append((question, client.async_infer("Keyed", inputs, **options)))
        for question, request in pending:
            question.expect(request.get_result())


def threads_with_clients_of_both_protocols_get_each_their_own_answers():
    failures = []

    def ask(turn):
        try:
            with http_client(network_timeout=60) as over_http, grpc_client() as over_grpc:
                for number in range(turn, REQUESTS, THREADS):
                    question = Question(number)
                    inputs, options = _over_http(http, question, number)
                    question.expect(over_http.infer("Keyed", inputs, **options))
                    question.expect(over_grpc.infer("Keyed", question.inputs(grpc), **_over_grpc(question)))
        except Exception as error:
            failures.append(repr(error))

    threads = [threading.Thread(target=ask, args=(turn,)) for turn in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expect_equal(failures, [])


def requests_over_grpc_at_once_get_each_its_own_answer():
    answers = queue.Queue()
    with grpc_client() as client:
        for number in range(REQUESTS):
            question = Question(number)
            algorithm = "gzip" if number % 7 == 0 else None
            client.async_infer(
                "Keyed",
                question.inputs(grpc),
                callback=lambda result, error, question=question: answers.put((question, result, error)),
                compression_algorithm=algorithm,
                **_over_grpc(question),
            )
        for _ in range(REQUESTS):
            question, result, error = answers.get(timeout=60)
            expect_equal(error, None)
            question.expect(result)


def requests_of_one_stream_get_each_its_own_answer():
    answers = queue.Queue()
    questions = {question.id: question for question in map(Question, range(REQUESTS))}
    with grpc_client() as client:
        client.start_stream(callback=lambda result, error: answers.put((result, error)))
        for question in questions.values():
            client.async_stream_infer(
                "Keyed", question.inputs(grpc), request_id=question.id, parameters=question.parameters
            )
        for _ in range(REQUESTS):
            result, error = answers.get(timeout=60)
            expect_equal(error, None)
            questions.pop(result.get_response().id).expect(result, has_header=False)
        client.stop_stream()
    expect_equal(questions, {})


async def asyncio_requests_over_http_get_each_its_own_answer():
    async def ask(client, number):
        question = Question(number)
        inputs, options = _over_http(http_aio, question, number)
        question.expect(await client.infer("Keyed", inputs, **options))

    async with http_aio.InferenceServerClient(address("http"), conn_limit=16) as client:
        await asyncio.gather(*(ask(client, number) for number in range(REQUESTS)))


async def asyncio_requests_over_grpc_get_each_its_own_answer():
    async def ask(client, number):
        question = Question(number)
        question.expect(await client.infer("Keyed", question.inputs(grpc_aio), **_over_grpc(question)))

    async with grpc_aio.InferenceServerClient(address("grpc")) as client:
        await asyncio.gather(*(ask(client, number) for number in range(REQUESTS)))
