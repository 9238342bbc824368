"""gRPC and HTTP over TLS, with and without certificates of clients."""

import ssl

import tritonclient.grpc as grpc
import tritonclient.http as http
from support import CERTIFICATES, add_sub_inputs, expect_add_sub, expect_equal, grpc_client, http_client, refused

AUTHORITY = f"{CERTIFICATES}/ca.pem"
CLIENT = {"private_key": f"{CERTIFICATES}/client.key", "certificate_chain": f"{CERTIFICATES}/client.pem"}


def _ask(server, **options):
    with grpc_client(server, **options) as client:
        expect_add_sub(client.infer("AddSub", add_sub_inputs(grpc), client_timeout=10))


def _context(*own):
    context = ssl.create_default_context(cafile=AUTHORITY)
    if own:
        context.load_cert_chain(*own)
    return context


def _ask_http(server, *own):
    with http_client(server, ssl=True, ssl_context_factory=lambda: _context(*own)) as client:
        expect_add_sub(client.infer("AddSub", add_sub_inputs(http)))
        expect_add_sub(client.infer("AddSub", add_sub_inputs(http, binary_data=False)))


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


def http_serves_a_client_that_knows_the_authority():
    _ask_http("secure")


def http_serves_a_client_with_a_certificate_where_one_is_wanted():
    _ask_http("mutual", CLIENT["certificate_chain"], CLIENT["private_key"])


def http_refuses_a_client_without_one():
    try:
        _ask_http("mutual")
    except OSError:
        return
    raise AssertionError("expected the connection to fail")


def a_stream_works_over_tls():
    answers = []
    with grpc_client("secure", ssl=True, root_certificates=AUTHORITY) as client:
        client.start_stream(callback=lambda result, error: answers.append((result, error)))
        client.async_stream_infer("AddSub", add_sub_inputs(grpc))
        client.stop_stream()
    expect_equal(len(answers), 1)
    expect_add_sub(answers[0][0])
