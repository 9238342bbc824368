"""h2spec, nghttp, h2load, curl and grpcio on the HTTP/2 connections alone, with an echo on top of them."""

import os
import re
import subprocess
import threading

import grpc
from support import CERTIFICATES, SERVERS, expect_equal, expect_in

PORTS = SERVERS["http2"]
AUTHORITY = f"{CERTIFICATES}/ca.pem"
ENVIRONMENT = {**os.environ, "LD_LIBRARY_PATH": os.environ["INTEROP_LIBRARIES"]}
H2SPEC_CASES = 146


def _run(*command, stdin=None):
    done = subprocess.run(command, input=stdin, capture_output=True, timeout=55, env=ENVIRONMENT)
    if done.returncode != 0:
        raise AssertionError(f"{command[0]} ended with {done.returncode}: {(done.stdout + done.stderr)[-300:].decode(errors='replace')}")
    return done.stdout.decode()


def _h2spec(server, *options):
    out = _run("h2spec", "--strict", "--host", "127.0.0.1", "--port", str(PORTS[server]), *options)
    expect_in(f"{H2SPEC_CASES} tests, {H2SPEC_CASES} passed, 0 skipped, 0 failed", out)


def _url(server, path, scheme="http"):
    return f"{scheme}://localhost:{PORTS[server]}{path}"


def _channel(server="plain", **options):
    arguments = [(f"grpc.{name}", value) for name, value in {"max_receive_message_length": -1, "max_send_message_length": -1, **options}.items()]
    if server != "secure":
        return grpc.insecure_channel(f"localhost:{PORTS[server]}", arguments)
    with open(AUTHORITY, "rb") as file:
        return grpc.secure_channel(f"localhost:{PORTS[server]}", grpc.ssl_channel_credentials(file.read()), arguments)


def _pattern(length):
    return (bytes(range(251)) * (length // 251 + 1))[:length]


def h2spec_passes_every_case():
    _h2spec("plain")


def h2spec_passes_every_case_over_tls():
    _h2spec("secure", "--tls", "--insecure")


def curl_posts_with_prior_knowledge_and_over_tls():
    options = ("--silent", "--show-error", "--max-time", "30", "--data-binary", "@-", "--write-out", " %{http_version} %{response_code}")
    message = b"x" * 300_000
    for command in (("--http2-prior-knowledge", _url("plain", "/p")), ("--http2", "--cacert", AUTHORITY, _url("secure", "/p", "https"))):
        expect_equal(_run("curl", *options, *command, stdin=message), message.decode() + " 2 200")


def curl_of_http_1_gets_no_answer():
    done = subprocess.run(("curl", "--silent", "--http1.1", "--max-time", "30", _url("plain", "/p")), capture_output=True, timeout=50)
    expect_equal((done.returncode != 0, b"200" in done.stdout), (True, False))


def nghttp_uploads_and_reads_trailers():
    out = _run("nghttp", "--verbose", "--no-dep", "--data", AUTHORITY, _url("plain", "/p"))
    with open(AUTHORITY) as file:
        expect_in(file.read().splitlines()[1], out)
    expect_in("grpc-status: 0", re.sub(r"\x1b\[[0-9;]*m", "", out))


def h2load_loads_many_connections_and_streams():
    for server, scheme in (("wide", "http"), ("secure", "https")):
        for connections, streams in ((16, 1), (1, 64), (8, 16)):
            out = _run("h2load", "-n", "2000", "-c", str(connections), "-m", str(streams), "-d", AUTHORITY, _url(server, "/p", scheme))
            expect_in("2000 total, 2000 started, 2000 done, 2000 succeeded, 0 failed, 0 errored, 0 timeout", out)


def grpcio_calls_with_messages_of_every_size():
    for server in ("plain", "secure", "wide"):
        with _channel(server) as channel:
            call = channel.unary_unary("/echo.Echo/Unary")
            for length in (0, 1, 1000, 16_379, 16_380, 70_000, 5_000_000):
                message = _pattern(length)
                expect_equal(call(message, timeout=30) == message, True)


def grpcio_calls_many_at_once():
    with _channel() as channel:
        call = channel.unary_unary("/echo.Echo/Unary")
        messages = [_pattern(100 * i) for i in range(500)]
        futures = [call.future(message, timeout=30) for message in messages]
        expect_equal([future.result() == message for future, message in zip(futures, messages)], [True] * 500)


def grpcio_streams_both_ways():
    with _channel() as channel:
        call = channel.stream_stream("/echo.Echo/Stream")
        messages = [_pattern(length) for length in (1, 5, 100_000, 0, 3, 2_000_000) * 3]
        expect_equal([answer == message for answer, message in zip(call(iter(messages), timeout=30), messages, strict=True)], [True] * len(messages))


def grpcio_cancels_and_exceeds_deadlines():
    with _channel() as channel:
        before = int(channel.unary_unary("/echo.Echo/Cancelled")(b"", timeout=10))
        call = channel.unary_unary("/echo.Echo/Never")
        futures = [call.future(b"x", timeout=30) for _ in range(20)]
        try:
            call(b"x", timeout=0.2)
        except grpc.RpcError as error:
            expect_equal(error.code(), grpc.StatusCode.DEADLINE_EXCEEDED)
        for future in futures:
            future.cancel()
        for _ in range(100):
            if int(channel.unary_unary("/echo.Echo/Cancelled")(b"", timeout=10)) == before + 21:
                return
            threading.Event().wait(0.05)
        raise AssertionError("the server does not know of every cancelled call")


def grpcio_pings_and_sends_large_metadata():
    with _channel(keepalive_time_ms=100, keepalive_permit_without_calls=1) as channel:
        call = channel.unary_unary("/echo.Echo/Unary")
        for _ in range(5):
            metadata = [("x-large", "v" * 5000), ("x-binary-bin", bytes(range(256)))]
            expect_equal(call(b"hello", metadata=metadata, timeout=10), b"hello")
            threading.Event().wait(0.15)
