"""tritonclient.grpc, the synchronous client, unary calls."""

import queue

import numpy as np
import tritonclient.grpc as grpc
from support import (
    VALUES, add_sub_inputs, expect_add_sub, expect_equal, expect_in, expect_same, grpc_client, identity_input, refused, tensor_of,
)
from tritonclient.grpc import service_pb2


def every_datatype_survives():
    with grpc_client() as client:
        for datatype in VALUES:
            rows, tensor = identity_input(grpc, datatype)
            expect_same(client.infer(f"Identity{datatype}", [tensor]).as_numpy("y"), rows)


def typed_contents_are_read_for_every_datatype_that_has_them():
    fields = {
        "bool_contents": ["BOOL"], "int_contents": ["INT8", "INT16", "INT32"], "int64_contents": ["INT64"],
        "uint_contents": ["UINT8", "UINT16", "UINT32"], "uint64_contents": ["UINT64"],
        "fp32_contents": ["FP32"], "fp64_contents": ["FP64"], "bytes_contents": ["BYTES"],
    }
    with grpc_client() as client:
        for field, datatypes in fields.items():
            for datatype in datatypes:
                values = VALUES[datatype]
                request = service_pb2.ModelInferRequest(model_name=f"Identity{datatype}")
                tensor = request.inputs.add(name="x", datatype=datatype, shape=[1, len(values)])
                getattr(tensor.contents, field).extend(values.tolist())
                response = client._client_stub.ModelInfer(request)
                expect_same(grpc.InferResult(response).as_numpy("y"), values.reshape(1, -1))


def an_empty_tensor_survives():
    with grpc_client() as client:
        tensor = grpc.InferInput("x", [2, 0], "FP32")
        tensor.set_data_from_numpy(np.zeros([2, 0], dtype=np.float32))
        expect_equal(client.infer("IdentityFP32", [tensor]).as_numpy("y").shape, (2, 0))


def sixteen_megabytes_survive():
    with grpc_client() as client:
        array = np.arange(4 * 2**20, dtype=np.float32).reshape(1, -1)
        tensor = grpc.InferInput("x", list(array.shape), "FP32")
        tensor.set_data_from_numpy(array)
        expect_same(client.infer("IdentityFP32", [tensor]).as_numpy("y"), array)


def half_a_gigabyte_survives_whose_bandwidth_the_client_measures_by_pings():
    with grpc_client() as client:
        array = np.arange(128 * 2**20, dtype=np.float32).reshape(1, -1)
        tensor = grpc.InferInput("x", list(array.shape), "FP32")
        tensor.set_data_from_numpy(array)
        expect_same(client.infer("IdentityFP32", [tensor]).as_numpy("y"), array)


def requested_outputs_the_id_and_the_version_come_back():
    with grpc_client() as client:
        result = client.infer("AddSub", add_sub_inputs(grpc), outputs=[grpc.InferRequestedOutput("sub")], request_id="ž")
        response = result.get_response()
        expect_equal((response.id, response.model_name, response.model_version), ("ž", "AddSub", "1"))
        expect_equal([output.name for output in response.outputs], ["sub"])


def gzip_and_deflate_messages_are_understood():
    with grpc_client() as client:
        for algorithm in ("gzip", "deflate"):
            expect_add_sub(client.infer("AddSub", add_sub_inputs(grpc), compression_algorithm=algorithm))
            rows, tensor = identity_input(grpc, "BYTES")
            expect_same(client.infer("IdentityBYTES", [tensor], compression_algorithm=algorithm).as_numpy("y"), rows)


def custom_parameters_of_every_kind_reach_the_callable():
    with grpc_client() as client:
        parameters = {"text": "ž", "whole": 7, "half": 0.5, "yes": True}
        result = client.infer("Parameters", [tensor_of(grpc, "x", [[1]], np.int32)], parameters=parameters)
        expect_equal(result.as_numpy("text")[0, 0].decode(), '{"half":0.5,"text":"ž","whole":7,"yes":true}')


def the_callable_sets_parameters_of_the_response():
    with grpc_client() as client:
        parameters = client.infer("Parameters", [tensor_of(grpc, "x", [[1]], np.int32)], request_id="42").get_response().parameters
        expect_equal(parameters["seen_id"].string_param, "42")
        expect_equal((parameters["count"].int64_param, parameters["whole"].bool_param, parameters["half"].double_param), (0, True, 0.5))


def headers_that_match_the_pattern_become_parameters():
    with grpc_client() as client:
        headers = {"interop-user": "me", "other-user": "you"}
        result = client.infer("Parameters", [tensor_of(grpc, "x", [[1]], np.int32)], headers=headers)
        expect_equal(result.as_numpy("text")[0, 0], b'{"interop-user":"me"}')


def an_optional_input_may_be_left_out():
    with grpc_client() as client:
        expect_equal(client.infer("Scale", [tensor_of(grpc, "x", [[1, 2]], np.float32)]).as_numpy("y").tolist(), [[2, 4]])


def classification_gives_the_largest_with_labels():
    with grpc_client() as client:
        inputs = [tensor_of(grpc, "x", [[0.25, 4, 1, -1]], np.float32)]
        result = client.infer("Scores", inputs, outputs=[grpc.InferRequestedOutput("scores", class_count=2)])
        expect_same(result.as_numpy("scores"), np.array([[b"4.000000:1:bee", b"1.000000:2:cat"]], dtype=np.object_))


def a_deadline_that_passes_is_deadline_exceeded():
    with grpc_client() as client, refused("Deadline Exceeded", "StatusCode.DEADLINE_EXCEEDED"):
        client.infer("Slow", [tensor_of(grpc, "milliseconds", [[5000]], np.int32)], client_timeout=0.2)


def requests_at_once_call_back_with_their_results():
    answers = queue.Queue()
    with grpc_client() as client:
        for number in range(64):
            client.async_infer(
                "AddSub",
                add_sub_inputs(grpc, number),
                callback=lambda result, error, number=number: answers.put((number, result, error)),
            )
        for _ in range(64):
            number, result, error = answers.get(timeout=20)
            expect_equal(error, None)
            expect_add_sub(result, number)


def a_cancelled_request_calls_back_with_cancelled():
    answers = queue.Queue()
    with grpc_client() as client:
        inputs = [tensor_of(grpc, "milliseconds", [[5000]], np.int32)]
        call = client.async_infer("Slow", inputs, callback=lambda result, error: answers.put((result, error)))
        call.cancel()
        result, error = answers.get(timeout=10)
        expect_equal((result, error.status()), (None, "StatusCode.CANCELLED"))
        expect_add_sub(client.infer("AddSub", add_sub_inputs(grpc)))


def failures_have_tritons_codes_and_texts():
    with grpc_client() as client:
        a, b = add_sub_inputs(grpc)
        with refused("the callable failed", "StatusCode.INTERNAL"):
            client.infer("Fails", [tensor_of(grpc, "how", [[b"throw"]], np.object_)])
        with refused("the callable refuses", "StatusCode.INVALID_ARGUMENT"):
            client.infer("Fails", [tensor_of(grpc, "how", [[b"refuse"]], np.object_)])
        with refused("expected 2 inputs but got 1 inputs for model 'AddSub'", "StatusCode.INVALID_ARGUMENT"):
            client.infer("AddSub", [a])
        with refused("Request for unknown model: 'Nothing' is not found", "StatusCode.NOT_FOUND"):
            client.infer("Nothing", [a])
        with refused("version should be an integral value > 0", "StatusCode.INVALID_ARGUMENT"):
            client.infer("AddSub", [a, b], model_version="one")
        with refused("ModelInfer RPC doesn't support models with decoupled transaction policy", "StatusCode.UNIMPLEMENTED"):
            client.infer("Count", [tensor_of(grpc, "n", [[1]], np.int32)])


def health_and_metadata_answer():
    with grpc_client() as client:
        expect_equal((client.is_server_live(), client.is_server_ready()), (True, True))
        expect_equal([client.is_model_ready(name) for name in ("AddSub", "Nothing")], [True, False])
        server = client.get_server_metadata()
        expect_equal(server.name, "triton")
        expect_in("statistics", server.extensions)
        model = client.get_model_metadata("AddSub")
        expect_equal([(i.name, i.datatype, list(i.shape)) for i in model.inputs], [("a", "FP32", [-1, -1]), ("b", "FP32", [-1, -1])])
        config = client.get_model_config("AddSub").config
        expect_equal((config.name, config.max_batch_size, config.WhichOneof("scheduling_choice")), ("AddSub", 16, "dynamic_batching"))
        expect_equal(client.get_model_config("Count").config.model_transaction_policy.decoupled, True)
        expect_equal(client.get_model_metadata("AddSub", as_json=True)["versions"], ["1"])


def statistics_count_requests_and_rows():
    with grpc_client() as client:
        def counts():
            (one,) = client.get_inference_statistics("Unbatched").model_stats
            return one.inference_count, one.inference_stats.success.count

        before = counts()
        client.infer("Unbatched", [tensor_of(grpc, "x", [[1]], np.float32)])
        expect_equal(counts(), (before[0] + 1, before[1] + 1))
        expect_in("AddSub", [one.name for one in client.get_inference_statistics().model_stats])


def keepalive_pings_do_not_end_the_connection():
    options = grpc.KeepAliveOptions(keepalive_time_ms=100, keepalive_timeout_ms=5000, keepalive_permit_without_calls=False, http2_max_pings_without_data=0)
    with grpc_client(keepalive_options=options) as client:
        client.infer("Slow", [tensor_of(grpc, "milliseconds", [[1500]], np.int32)])
        expect_add_sub(client.infer("AddSub", add_sub_inputs(grpc)))
