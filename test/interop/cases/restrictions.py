"""APIs behind the access token and behind headers, asked by tritonclient."""

import tritonclient.grpc
import tritonclient.http
from support import add_sub_inputs, expect_add_sub, expect_equal, grpc_client, http_client, refused

HTTP_TOKEN = {"triton-access-token": "interop-token"}
GRPC_TOKEN = {"triton-grpc-protocol-triton-access-token": "interop-token"}


def inference_health_and_metadata_are_open():
    for module, connect in ((tritonclient.http, http_client), (tritonclient.grpc, grpc_client)):
        with connect("guarded") as client:
            expect_equal((client.is_server_live(), client.is_server_ready(), client.is_model_ready("AddSub")), (True, True, True))
            client.get_server_metadata()
            client.get_model_metadata("AddSub")
            client.get_model_config("AddSub")
            expect_add_sub(client.infer("AddSub", add_sub_inputs(module)))


def what_changes_the_server_needs_the_token_over_http():
    with http_client("guarded") as client:
        for ask in (
            client.get_model_repository_index,
            client.get_system_shared_memory_status,
            client.get_log_settings,
            client.get_trace_settings,
        ):
            for headers in (None, {"triton-access-token": "wrong"}):
                with refused("This API is restricted, expecting header 'triton-access-token'", "403"):
                    ask(headers=headers)
            ask(headers=HTTP_TOKEN)


def what_changes_the_server_needs_the_token_over_grpc():
    expected = "This protocol is restricted, expecting header 'triton-grpc-protocol-triton-access-token'"
    with grpc_client("guarded") as client:
        for ask in (
            client.get_model_repository_index,
            client.get_system_shared_memory_status,
            client.get_log_settings,
            client.get_trace_settings,
        ):
            for headers in (None, {"triton-grpc-protocol-triton-access-token": "wrong"}, HTTP_TOKEN):
                with refused(expected, "StatusCode.UNAVAILABLE"):
                    ask(headers=headers)
            ask(headers=GRPC_TOKEN)


def an_api_may_have_a_header_of_its_own():
    with http_client("guarded") as client:
        with refused("This API is restricted, expecting header 'interop-key'", "403"):
            client.get_inference_statistics("AddSub", headers=HTTP_TOKEN)
        client.get_inference_statistics("AddSub", headers={"interop-key": "secret"})
    with grpc_client("guarded") as client:
        with refused("expecting header 'triton-grpc-protocol-interop-key'", "StatusCode.UNAVAILABLE"):
            client.get_inference_statistics("AddSub", headers={"interop-key": "secret"})
        client.get_inference_statistics("AddSub", headers={"triton-grpc-protocol-interop-key": "secret"})
