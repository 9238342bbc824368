"""tritonclient's sequence examples at a model with `sequenceBatching`.

What is asked is that of simple_grpc_sequence_stream_infer_client.py, simple_grpc_sequence_sync_infer_client.py and
simple_http_sequence_sync_infer_client.py: two sequences of several values beside each other, each answered with its own running total.
"""

import json
import queue
import threading
import urllib.request

import numpy as np
import tritonclient.grpc as grpc
import tritonclient.http as http
from support import address, expect_equal, grpc_client, http_client, refused, tensor_of

FIRST, SECOND = [0, 11, 7, 5, 3, 2, 0, 1], [100, 110, 70, 50, 30, 20, 10, 1]


def _totals(values):
    return np.cumsum(values).tolist()


def _flags(values, position, identity):
    return {"sequence_id": identity, "sequence_start": position == 0, "sequence_end": position == len(values) - 1}


def _sync(client, module, pairs):
    """The values of all sequences in turns, as the examples send them, and the answers by sequence."""
    answers = {identity: [] for identity, _ in pairs}
    for position in range(len(FIRST)):
        for identity, values in pairs:
            inputs = [tensor_of(module, "x", [[values[position]]], np.int32)]
            result = client.infer("Total", inputs, **_flags(values, position, identity))
            answers[identity].append(result.as_numpy("total").item())
    return answers


def _expect_totals(answers, pairs):
    expect_equal(answers, {identity: _totals(values) for identity, values in pairs})


def http_requests_one_by_one():
    pairs = [(1000, FIRST), (1001, SECOND)]
    with http_client() as client:
        _expect_totals(_sync(client, http, pairs), pairs)


def grpc_requests_one_by_one():
    pairs = [(1002, FIRST), (1003, SECOND)]
    with grpc_client() as client:
        _expect_totals(_sync(client, grpc, pairs), pairs)


def ids_as_text_over_both_protocols():
    for module, open_client in ((http, http_client), (grpc, grpc_client)):
        pairs = [(f"{module.__name__} á", FIRST), (f"{module.__name__} b", SECOND)]
        with open_client() as client:
            _expect_totals(_sync(client, module, pairs), pairs)


def requests_of_sequences_in_one_grpc_stream():
    pairs = [(2000, FIRST), (2001, SECOND), ("2002", SECOND[::-1])]
    answers = queue.Queue()
    with grpc_client() as client:
        client.start_stream(callback=lambda result, error: answers.put((result, error)))
        for identity, values in pairs:
            for position, value in enumerate(values):
                client.async_stream_infer(
                    model_name="Total",
                    inputs=[tensor_of(grpc, "x", [[value]], np.int32)],
                    request_id=f"{identity}_{position}",
                    **_flags(values, position, identity),
                )
        got = {str(identity): [] for identity, _ in pairs}
        for _ in range(sum(len(values) for _, values in pairs)):
            result, error = answers.get(timeout=20)
            expect_equal(error, None)
            identity, _, position = result.get_response().id.rpartition("_")
            expect_equal(int(position), len(got[identity]))
            got[identity].append(result.as_numpy("total").item())
        client.stop_stream()
    _expect_totals(got, [(str(identity), values) for identity, values in pairs])


def many_sequences_at_once_keep_their_own_totals():
    failures = []

    def one(number):
        values = [number * 10 + i for i in range(len(FIRST))]
        pairs = [(5000 + number, values)]
        module, open_client = (http, http_client) if number % 2 == 0 else (grpc, grpc_client)
        try:
            with open_client() as client:
                _expect_totals(_sync(client, module, pairs), pairs)
        except Exception as error:  # noqa: BLE001 -- told by the case, in its own thread
            failures.append(error)

    threads = [threading.Thread(target=one, args=(number,)) for number in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expect_equal(failures, [])


def a_request_without_start_is_refused_with_tritons_text():
    text = "inference request for sequence 77 to model 'Total' must specify the START flag on the first request of the sequence"
    inputs = [tensor_of(http, "x", [[1]], np.int32)]
    with http_client() as client, refused(text):
        client.infer("Total", inputs, sequence_id=77)
    with grpc_client() as client, refused(text):
        client.infer("Total", [tensor_of(grpc, "x", [[1]], np.int32)], sequence_id=77)


def generate_takes_the_sequence_as_parameters():
    totals = []
    for position, value in enumerate([4, 5, 6]):
        body = {"x": value, **_flags([4, 5, 6], position, "generated")}
        request = urllib.request.Request(
            f"http://{address('http')}/v2/models/Total/generate", json.dumps(body).encode(), {"content-type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=20) as response:
            totals.append(json.load(response)["total"])
    expect_equal(totals, [4, 9, 15])
