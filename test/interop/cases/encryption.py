"""gRPC over TLS, with and without certificates of clients."""

import tritonclient.grpc as grpc
from support import CERTIFICATES, add_sub_inputs, expect_add_sub, expect_equal, grpc_client, refused

AUTHORITY = f"{CERTIFICATES}/ca.pem"
CLIENT = {"private_key": f"{CERTIFICATES}/client.key", "certificate_chain": f"{CERTIFICATES}/client.pem"}


def _ask(server, **options):
    with grpc_client(server, **options) as client:
        expect_add_sub(client.infer("AddSub", add_sub_inputs(grpc), client_timeout=10))


def a_client_that_knows_the_authority_is_served():
    _ask("secure", ssl=True, root_certificates=AUTHORITY)


def a_client_that_does_not_know_the_authority_does_not_connect():
    with refused("", "StatusCode.UNAVAILABLE"):
        _ask("secure", ssl=True)


def a_client_without_tls_is_not_served():
    with refused("", "StatusCode.UNAVAILABLE"):
        _ask("secure")


def mutual_tls_serves_a_client_with_a_certificate():
    _ask("mutual", ssl=True, root_certificates=AUTHORITY, **CLIENT)


def mutual_tls_refuses_a_client_without_one():
    with refused("", "StatusCode.UNAVAILABLE"):
        _ask("mutual", ssl=True, root_certificates=AUTHORITY)


def a_stream_works_over_tls():
    answers = []
    with grpc_client("secure", ssl=True, root_certificates=AUTHORITY) as client:
        client.start_stream(callback=lambda result, error: answers.append((result, error)))
        client.async_stream_infer("AddSub", add_sub_inputs(grpc))
        client.stop_stream()
    expect_equal(len(answers), 1)
    expect_add_sub(answers[0][0])
