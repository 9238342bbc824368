"""tritonclient.http, the synchronous client."""

import threading
import time

import numpy as np
import tritonclient.http as http
from support import (
    VALUES, add_sub_inputs, expect_add_sub, expect_equal, expect_in, expect_same, http_client, identity_input, refused, tensor_of,
)


def _round_trip(datatype, binary_in, binary_out):
    with http_client() as client:
        rows, tensor = identity_input(http, datatype, binary_data=binary_in)
        outputs = [http.InferRequestedOutput("y", binary_data=binary_out)]
        expect_same(client.infer(f"Identity{datatype}", [tensor], outputs=outputs).as_numpy("y"), rows)


def every_datatype_survives_as_binary():
    for datatype in VALUES:
        _round_trip(datatype, True, True)


def every_datatype_with_a_json_form_survives_as_json():
    for datatype in VALUES.keys() - {"FP16", "BF16", "BYTES"}:
        _round_trip(datatype, False, False)
        _round_trip(datatype, False, True)
        _round_trip(datatype, True, False)


def the_largest_uint64_survives_as_json():
    with http_client() as client:
        array = np.array([[2**64 - 1, 2**63]], dtype=np.uint64)
        tensor = http.InferInput("x", [1, 2], "UINT64")
        tensor.set_data_from_numpy(array, binary_data=False)
        result = client.infer("IdentityUINT64", [tensor], outputs=[http.InferRequestedOutput("y", binary_data=False)])
        expect_equal(result.get_output("y")["data"], [2**64 - 1, 2**63])


def text_survives_as_json():
    with http_client() as client:
        array = np.array([["", "žluť 🐎", 'a"\\\n\x00b']], dtype=np.object_)
        tensor = http.InferInput("x", [1, 3], "BYTES")
        tensor.set_data_from_numpy(array, binary_data=False)
        result = client.infer("IdentityBYTES", [tensor], outputs=[http.InferRequestedOutput("y", binary_data=False)])
        expect_equal(result.get_output("y")["data"], array[0].tolist())


def fp16_outputs_as_json_are_refused():
    with http_client() as client, refused("sending FP16 data via JSON is not supported", "400"):
        _, tensor = identity_input(http, "FP16")
        client.infer("IdentityFP16", [tensor], outputs=[http.InferRequestedOutput("y", binary_data=False)])


def fixed_width_byte_strings_are_sent_as_bytes():
    with http_client() as client:
        array = np.array([[b"ab", b"c"]])
        tensor = http.InferInput("x", [1, 2], "BYTES")
        tensor.set_data_from_numpy(array)
        result = client.infer("IdentityBYTES", [tensor]).as_numpy("y")
        expect_same(result, np.array([[b"ab", b"c"]], dtype=np.object_))


def an_empty_tensor_survives():
    with http_client() as client:
        for binary in (True, False):
            array = np.zeros([2, 0], dtype=np.float32)
            tensor = http.InferInput("x", [2, 0], "FP32")
            tensor.set_data_from_numpy(array, binary_data=binary)
            outputs = [http.InferRequestedOutput("y", binary_data=binary)]
            result = client.infer("IdentityFP32", [tensor], outputs=outputs)
            expect_equal(result.get_output("y")["shape"], [2, 0])


def sixteen_megabytes_survive():
    with http_client() as client:
        array = np.arange(4 * 2**20, dtype=np.float32).reshape(1, -1)
        tensor = http.InferInput("x", list(array.shape), "FP32")
        tensor.set_data_from_numpy(array)
        expect_same(client.infer("IdentityFP32", [tensor]).as_numpy("y"), array)


def only_the_requested_outputs_come_back_in_the_requested_form():
    with http_client() as client:
        result = client.infer("AddSub", add_sub_inputs(http), outputs=[http.InferRequestedOutput("sub", binary_data=False)])
        outputs = result.get_response()["outputs"]
        expect_equal(outputs, [{"name": "sub", "datatype": "FP32", "shape": [1, 3], "data": [-9.0, -18.0, -27.0]}])


def json_and_binary_inputs_and_outputs_mix():
    with http_client() as client:
        inputs = [tensor_of(http, "a", [[1, 2, 3]], np.float32, binary_data=False), add_sub_inputs(http)[1]]
        outputs = [http.InferRequestedOutput("add"), http.InferRequestedOutput("sub", binary_data=False)]
        expect_add_sub(client.infer("AddSub", inputs, outputs=outputs))


def the_request_id_comes_back_and_the_version_served():
    with http_client() as client:
        response = client.infer("AddSub", add_sub_inputs(http), request_id="id 7 ž").get_response()
        expect_equal((response["id"], response["model_name"], response["model_version"]), ("id 7 ž", "AddSub", "1"))


def gzip_and_deflate_work_both_ways():
    with http_client() as client:
        for algorithm in ("gzip", "deflate"):
            for options in (
                {"request_compression_algorithm": algorithm},
                {"response_compression_algorithm": algorithm},
                {"request_compression_algorithm": algorithm, "response_compression_algorithm": algorithm},
            ):
                expect_add_sub(client.infer("AddSub", add_sub_inputs(http), **options))
                rows, tensor = identity_input(http, "BYTES")
                expect_same(client.infer("IdentityBYTES", [tensor], **options).as_numpy("y"), rows)


def a_compressed_response_says_so():
    with http_client() as client:
        body, header_length = client.generate_request_body(add_sub_inputs(http))
        headers = {"Accept-Encoding": "gzip", "Inference-Header-Content-Length": header_length}
        response = client._client_stub.post("/v2/models/AddSub/infer", body=body, headers=headers)
        expect_equal((response.status_code, response.get("Content-Encoding")), (200, "gzip"))
        length = response.get("Inference-Header-Content-Length")
        result = http.InferenceServerClient.parse_response_body(response.read(), header_length=int(length), content_encoding="gzip")
        expect_add_sub(result)


def custom_parameters_of_every_kind_reach_the_callable():
    with http_client() as client:
        parameters = {"text": "ž", "whole": 7, "half": 0.5, "yes": True}
        result = client.infer("Parameters", [tensor_of(http, "x", [[1]], np.int32)], parameters=parameters)
        text = result.as_numpy("text")[0, 0].decode()
        expect_equal(text, '{"half":0.5,"text":"ž","whole":7,"yes":true}')


def the_callable_sets_parameters_of_the_response():
    with http_client() as client:
        result = client.infer("Parameters", [tensor_of(http, "x", [[1]], np.int32)], request_id="42", parameters={"p": 1})
        expected = {"seen_id": "42", "count": 1, "whole": True, "half": 0.5}
        expect_equal(result.get_response()["parameters"], expected)


def headers_that_match_the_pattern_become_parameters():
    with http_client() as client:
        headers = {"interop-user": "me", "other-user": "you"}
        result = client.infer("Parameters", [tensor_of(http, "x", [[1]], np.int32)], headers=headers)
        expect_equal(result.as_numpy("text")[0, 0], b'{"interop-user":"me"}')


def an_optional_input_may_be_left_out():
    with http_client() as client:
        x = tensor_of(http, "x", [[1, 2]], np.float32)
        expect_equal(client.infer("Scale", [x]).as_numpy("y").tolist(), [[2, 4]])
        factor = tensor_of(http, "factor", [[10]], np.float32)
        expect_equal(client.infer("Scale", [x, factor]).as_numpy("y").tolist(), [[10, 20]])


def a_model_without_batching_takes_its_shape_as_it_is():
    with http_client() as client:
        expect_equal(client.infer("Unbatched", [tensor_of(http, "x", [[1, 2], [3, 4]], np.float32)]).as_numpy("y").shape, (2, 2))


def the_highest_version_answers_unless_one_is_named():
    with http_client() as client:
        inputs = [tensor_of(http, "x", [[1]], np.int32)]
        versions = [client.infer("Versions", inputs, model_version=version).as_numpy("version")[0, 0] for version in ("", "1", "3")]
        expect_equal(versions, [3, 1, 3])
        with refused("Request for unknown model: 'Versions' version 2 is not found", "404"):
            client.infer("Versions", inputs, model_version="2")


def classification_gives_the_largest_with_labels():
    with http_client() as client:
        inputs = [tensor_of(http, "x", [[0.25, 4, 1, -1]], np.float32)]
        result = client.infer("Scores", inputs, outputs=[http.InferRequestedOutput("scores", class_count=2)])
        expect_same(result.as_numpy("scores"), np.array([[b"4.000000:1:bee", b"1.000000:2:cat"]], dtype=np.object_))


def requests_at_once_on_several_connections_are_all_answered():
    with http_client(concurrency=8) as client:
        pending = [client.async_infer("AddSub", add_sub_inputs(http, number)) for number in range(64)]
        for number, request in enumerate(pending):
            expect_add_sub(request.get_result(), number)


def threads_with_a_client_each_are_all_answered():
    failures = []

    def ask(first):
        try:
            with http_client() as client:
                for number in range(first, first + 20):
                    expect_add_sub(client.infer("AddSub", add_sub_inputs(http, number)), number)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=ask, args=(20 * turn,)) for turn in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expect_equal(failures, [])


def a_client_that_waits_no_longer_is_told_so_and_may_ask_again():
    with http_client(network_timeout=0.2) as client:
        try:
            client.infer("Slow", [tensor_of(http, "milliseconds", [[2000]], np.int32)])
        except TimeoutError:
            pass
        else:
            raise AssertionError("expected a timeout, got an answer")
        expect_equal(client.infer("Slow", [tensor_of(http, "milliseconds", [[1]], np.int32)]).as_numpy("waited").tolist(), [[1]])


def requests_that_find_the_queue_full_or_wait_too_long_in_it_are_refused():
    def wait(milliseconds):
        return [tensor_of(http, "milliseconds", [[milliseconds]], np.int32)]

    with http_client(concurrency=4) as client:
        first = client.async_infer("Queue", wait(800))
        time.sleep(0.2)  # the first is running then; the others are in the queue, which has two places
        patient = client.async_infer("Queue", wait(1))
        hasty = client.async_infer("Queue", wait(1), timeout=100_000)
        time.sleep(0.05)
        with refused("Exceeds maximum queue size", "503"):
            client.infer("Queue", wait(1))
        with refused("Request timeout expired", "503"):
            hasty.get_result()
        expect_equal([one.get_result().as_numpy("waited").item() for one in (first, patient)], [800, 1])


def a_failing_callable_is_status_500_with_its_message():
    with http_client() as client, refused("the callable failed", "500") :
        client.infer("Fails", [tensor_of(http, "how", [[b"throw"]], np.object_)])


def a_callable_chooses_its_status():
    with http_client() as client, refused("the callable refuses", "400"):
        client.infer("Fails", [tensor_of(http, "how", [[b"refuse"]], np.object_)])


def what_does_not_fit_the_model_is_refused_in_tritons_words():
    with http_client() as client:
        a, b = add_sub_inputs(http)
        with refused("expected 2 inputs but got 1 inputs for model 'AddSub'", "400"):
            client.infer("AddSub", [a])
        with refused("inference input 'a' data-type is 'INT32', but model 'AddSub' expects 'FP32'", "400"):
            client.infer("AddSub", [tensor_of(http, "a", [[1, 2, 3]], np.int32), b])
        with refused("unexpected shape for input 'x' for model 'Scores'. Expected [-1,4], got [1,3]", "400"):
            client.infer("Scores", [tensor_of(http, "x", [[1, 2, 3]], np.float32)])
        with refused("inference request batch-size must be <= 8 for 'IdentityFP32'", "400"):
            client.infer("IdentityFP32", [tensor_of(http, "x", np.zeros([9, 1]), np.float32)])
        with refused("Request for unknown model: 'Nothing' is not found", "404"):
            client.infer("Nothing", [a])


def an_unknown_output_is_refused():
    with http_client() as client, refused("unexpected inference output 'nothing' for model 'AddSub'", "400"):
        client.infer("AddSub", add_sub_inputs(http), outputs=[http.InferRequestedOutput("nothing")])


def a_decoupled_model_is_refused():
    with http_client() as client, refused("HTTP end point doesn't support models with decoupled transaction policy", "501"):
        client.infer("Count", [tensor_of(http, "n", [[1]], np.int32)])


def sequences_are_refused_or_ignored_but_never_crash():
    with http_client() as client:
        inputs = [tensor_of(http, "x", [[1]], np.int32)]
        client.infer("Parameters", inputs, sequence_id=5, sequence_start=True, sequence_end=True)
        expect_equal(client.is_server_live(), True)


def health_and_metadata_answer():
    with http_client() as client:
        expect_equal((client.is_server_live(), client.is_server_ready()), (True, True))
        expect_equal([client.is_model_ready(name) for name in ("AddSub", "Nothing")], [True, False])
        expect_equal([client.is_model_ready("Versions", version) for version in ("1", "2", "3")], [True, False, True])
        server = client.get_server_metadata()
        expect_equal(server["name"], "triton")
        for extension in ("statistics", "binary_tensor_data", "model_repository", "system_shared_memory", "parameters"):
            expect_in(extension, server["extensions"])
        model = client.get_model_metadata("AddSub")
        expect_equal((model["name"], model["versions"]), ("AddSub", ["1"]))
        expect_equal(model["inputs"], [{"name": name, "datatype": "FP32", "shape": [-1, -1]} for name in "ab"])
        expect_equal(client.get_model_metadata("Versions")["versions"], ["1", "3"])


def the_configuration_tells_dimensions_batch_size_and_decoupling():
    with http_client() as client:
        config = client.get_model_config("AddSub")
        expect_equal((config["name"], config["max_batch_size"]), ("AddSub", 16))
        expect_equal([(i["name"], i["data_type"], i["dims"]) for i in config["input"]], [("a", "TYPE_FP32", [-1]), ("b", "TYPE_FP32", [-1])])
        expect_equal(client.get_model_config("Count")["model_transaction_policy"]["decoupled"], True)
        expect_equal(client.get_model_config("Unbatched")["max_batch_size"], 0)


def statistics_count_requests_and_rows():
    with http_client() as client:
        def counts():
            (one,) = client.get_inference_statistics("Unbatched")["model_stats"]
            return one["inference_count"], one["inference_stats"]["success"]["count"]

        before = counts()
        client.infer("Unbatched", [tensor_of(http, "x", [[1]], np.float32)])
        expect_equal(counts(), (before[0] + 1, before[1] + 1))
        expect_in("AddSub", [one["name"] for one in client.get_inference_statistics()["model_stats"]])
        expect_equal(len(client.get_inference_statistics("Versions", "3")["model_stats"]), 1)
