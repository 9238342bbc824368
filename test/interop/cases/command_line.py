"""curl, grpcurl, ghz and promtool."""

import base64
import json
import os
import shlex
import subprocess

import numpy as np
from support import CERTIFICATES, address, expect_equal, expect_in

ADD_SUB = {"inputs": [{"name": name, "datatype": "FP32", "shape": [1, 2], "data": data} for name, data in (("a", [1, 2]), ("b", [10, 20]))]}


def _run(*command, stdin=None, code=0):
    done = subprocess.run(command, input=stdin, capture_output=True, timeout=50)
    if done.returncode != code:
        text = (done.stderr or done.stdout).decode(errors="replace")
        raise AssertionError(f"{shlex.join(command[:1])} ended with {done.returncode}: {text[-300:]}")
    return done.stdout


def _curl(path, *options, server="open", protocol="http", stdin=None):
    """The answer's status, headers and body."""
    out = _run("curl", "--silent", "--show-error", "--max-time", "30", "--include", *options, f"http://{address(protocol, server)}{path}", stdin=stdin)
    head, _, body = out.partition(b"\r\n\r\n")
    while head.startswith(b"HTTP/1.1 100"):
        head, _, body = body.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines[1:])}
    return int(lines[0].split()[1]), headers, body


def _grpcurl(*arguments, stdin=None, code=0):
    return _run("grpcurl", "-max-time", "30", *arguments, stdin=stdin, code=code).decode()


def _call(method, message):
    out = _grpcurl("-plaintext", "-d", json.dumps(message), address("grpc"), f"inference.GRPCInferenceService/{method}")
    decoder, answers = json.JSONDecoder(), []
    while out.strip():
        answer, end = decoder.raw_decode(out.lstrip())
        answers.append(answer)
        out = out.lstrip()[end:]
    return answers


def _raw(array):
    return base64.b64encode(array.tobytes()).decode()


def curl_asks_for_health_and_metadata():
    expect_equal(_curl("/v2/health/ready")[0::2], (200, b""))
    status, headers, body = _curl("/v2/models/AddSub")
    expect_equal((status, headers["content-type"], json.loads(body)["name"]), (200, "application/json", "AddSub"))


def curl_infers_with_json():
    status, _, body = _curl("/v2/models/AddSub/infer", "--data", json.dumps(ADD_SUB))
    expect_equal((status, json.loads(body)["outputs"][0]["data"]), (200, [11.0, 22.0]))


def curl_infers_with_a_raw_binary_body():
    array = np.float32([1, 2, 3])
    options = ("--header", "Inference-Header-Content-Length: 0", "--header", "Content-Type: application/octet-stream", "--data-binary", "@-")
    status, headers, body = _curl("/v2/models/IdentityFP32/infer", *options, stdin=array.tobytes())
    expect_equal(status, 200)
    expect_equal(body[int(headers["inference-header-content-length"]):], array.tobytes())


def curl_gets_compressed_answers():
    status, headers, body = _curl("/v2/models/AddSub/infer", "--compressed", "--data", json.dumps(ADD_SUB))
    expect_equal((status, json.loads(body)["outputs"][1]["data"]), (200, [-9.0, -18.0]))
    expect_in(headers.get("content-encoding"), ("gzip", "deflate"))


def curl_uploads_in_chunks_and_waits_for_100_continue():
    for options in (("Transfer-Encoding: chunked",), ("Expect: 100-continue",)):
        headers = [part for option in options for part in ("--header", option)]
        status, _, body = _curl("/v2/models/AddSub/infer", *headers, "--data", json.dumps(ADD_SUB))
        expect_equal((status, json.loads(body)["outputs"][0]["data"]), (200, [11.0, 22.0]))


def curl_uses_one_connection_for_several_requests():
    url = f"http://{address('http')}/v2/health/live"
    out = _run("curl", "--silent", "--output", os.devnull, "--output", os.devnull, "--write-out", "%{num_connects} ", url, url)
    expect_equal(out, b"1 0 ")


def curl_speaks_http_1_0():
    expect_equal(_curl("/v2/models/AddSub/infer", "--http1.0", "--data", json.dumps(ADD_SUB))[0], 200)


def curl_generates_with_an_ordinary_and_a_decoupled_model():
    status, headers, body = _curl("/v2/models/Upper/generate", "--data", '{"text": "žluť", "id": "7"}')
    expect_equal((status, headers["content-type"]), (200, "application/json"))
    expect_equal(json.loads(body), {"id": "7", "model_name": "Upper", "model_version": "1", "upper": "ŽLUŤ"})
    expect_equal(json.loads(_curl("/v2/models/Count/generate", "--data", '{"n": 1}')[2])["i"], 0)
    expect_in("generate expects model to produce exactly 1 response", json.loads(_curl("/v2/models/Count/generate", "--data", '{"n": 2}')[2])["error"])


def curl_reads_server_sent_events():
    status, headers, body = _curl("/v2/models/Count/generate_stream", "--no-buffer", "--data", '{"n": 3}')
    expect_equal((status, headers["content-type"]), (200, "text/event-stream; charset=utf-8"))
    events = [json.loads(event.removeprefix("data: ")) for event in body.decode().split("\n\n") if event]
    expect_equal([event["i"] for event in events], [0, 1, 2])
    expect_equal(_curl("/v2/models/Count/generate_stream", "--data", '{"n": 0}')[0::2], (200, b""))
    expect_in(b'data: {"error":"counted enough"}', _curl("/v2/models/CountAndFail/generate_stream", "--data", '{"n": 1}')[2])


def curl_is_refused_with_a_status_and_an_error_text():
    for expected, path, options in (
        (404, "/nothing", ()),
        (404, "/v2/models/Nothing", ()),
        (405, "/v2/models/AddSub/infer", ()),
        (400, "/v2/models/AddSub/infer", ("--data", "{")),
        (400, "/v2/models/AddSub/infer", ("--data", "{}")),
        (501, "/v2/models/AddSub/infer", ("--header", "Content-Encoding: br", "--data", "{}")),
        (501, "/v2/models/Count/infer", ("--data", "{}")),
    ):
        status, _, body = _curl(path, *options)
        expect_equal((path, status), (path, expected))
        expect_equal(list(json.loads(body)), ["error"])


def curl_sends_a_preflight_where_cors_is_allowed():
    status, headers, _ = _curl(
        "/v2/models/AddSub/infer", "--request", "OPTIONS", "--header", "Origin: http://page.example",
        "--header", "Access-Control-Request-Method: POST", "--header", "Access-Control-Request-Headers: content-type",
    )
    expect_equal((status // 100, headers["access-control-allow-origin"]), (2, "*"))
    expect_equal(_curl("/v2", "--header", "Origin: http://page.example")[1]["access-control-allow-origin"], "*")
    expect_equal(_curl("/v2", "--request", "OPTIONS", server="guarded")[0], 405)


def grpcurl_lists_and_describes_the_services():
    services = _grpcurl("-plaintext", address("grpc"), "list").split()
    for service in ("grpc.health.v1.Health", "inference.GRPCInferenceService"):
        expect_in(service, services)
    methods = _grpcurl("-plaintext", address("grpc"), "list", "inference.GRPCInferenceService").split()
    expect_equal(len(methods), 20)
    expect_in("rpc ModelStreamInfer", _grpcurl("-plaintext", address("grpc"), "describe", "inference.GRPCInferenceService"))
    expect_in("raw_input_contents", _grpcurl("-plaintext", address("grpc"), "describe", ".inference.ModelInferRequest"))


def grpcurl_infers_through_reflection():
    inputs = [{"name": name, "datatype": "FP32", "shape": [1, 2], "contents": {"fp32_contents": values}} for name, values in (("a", [1, 2]), ("b", [10, 20]))]
    (answer,) = _call("ModelInfer", {"model_name": "AddSub", "inputs": inputs})
    expect_equal(answer["rawOutputContents"], [_raw(np.float32([11, 22])), _raw(np.float32([-9, -18]))])


def grpcurl_streams():
    request = {"model_name": "Count", "inputs": [{"name": "n", "datatype": "INT32", "shape": [1, 1], "contents": {"int_contents": [3]}}]}
    answers = _call("ModelStreamInfer", request)
    expect_equal([answer["inferResponse"]["rawOutputContents"] for answer in answers], [[_raw(np.int32([i]))] for i in range(3)])


def grpcurl_calls_every_method_that_only_reads():
    for method in ("ServerLive", "ServerReady", "ServerMetadata", "ModelStatistics", "RepositoryIndex", "SystemSharedMemoryStatus", "CudaSharedMemoryStatus", "TraceSetting", "LogSettings"):
        expect_equal(len(_call(method, {})), 1)
    for method in ("ModelReady", "ModelMetadata", "ModelConfig"):
        expect_equal(len(_call(method, {"name": "AddSub"})), 1)


def grpcurl_checks_and_watches_health():
    expect_in("SERVING", _grpcurl("-plaintext", address("grpc"), "grpc.health.v1.Health/Check"))
    done = subprocess.run(
        ["grpcurl", "-plaintext", "-max-time", "1", address("grpc"), "grpc.health.v1.Health/Watch"], capture_output=True, text=True, timeout=20,
    )
    expect_in('"status": "SERVING"', done.stdout)
    expect_in("DeadlineExceeded", done.stderr)


def grpcurl_sees_the_status_of_an_error():
    request = json.dumps({"name": "Nothing"})
    done = subprocess.run(
        ["grpcurl", "-plaintext", "-d", request, address("grpc"), "inference.GRPCInferenceService/ModelMetadata"], capture_output=True, text=True, timeout=20,
    )
    expect_in("Code: NotFound", done.stderr)
    expect_in("Request for unknown model: 'Nothing' is not found", done.stderr)


def grpcurl_connects_over_tls_and_mutual_tls():
    authority = ("-cacert", f"{CERTIFICATES}/ca.pem")
    own = ("-cert", f"{CERTIFICATES}/client.pem", "-key", f"{CERTIFICATES}/client.key")
    expect_in("inference.GRPCInferenceService", _grpcurl(*authority, address("grpc", "secure"), "list"))
    expect_in("inference.GRPCInferenceService", _grpcurl(*authority, *own, address("grpc", "mutual"), "list"))


def ghz_loads_unary_inference_without_an_error():
    inputs = [{"name": name, "datatype": "FP32", "shape": [1, 2]} for name in "ab"]
    message = {"model_name": "AddSub", "inputs": inputs, "raw_input_contents": [_raw(np.float32([1, 2])), _raw(np.float32([10, 20]))]}
    out = _run(
        "ghz", "--insecure", "--call", "inference.GRPCInferenceService.ModelInfer", "--data", json.dumps(message),
        "--total", "2000", "--concurrency", "16", "--connections", "4", "--format", "json", address("grpc"),
    )
    report = json.loads(out)
    expect_equal((report["count"], report["statusCodeDistribution"]), (2000, {"OK": 2000}))


def promtool_reads_the_metrics_and_complains_of_tritons_names_only():
    _, headers, body = _curl("/metrics", protocol="metrics")
    expect_in("text/plain", headers["content-type"])
    done = subprocess.run(["promtool", "check", "metrics"], input=body, capture_output=True, timeout=20)
    complaints = (done.stdout + done.stderr).decode().splitlines()
    # Triton's counters have no suffix `_total`, its times are in microseconds: promtool ends with 3 for such, with 1 for text it cannot read.
    expect_equal(done.returncode in (0, 3), True)
    names = ('should have "_total" suffix', "should not contain abbreviated units", 'should not have "_count" suffix')
    expect_equal([line for line in complaints if not (line.startswith("nv_") and line.endswith(names))], [])
    for metric in ("nv_inference_request_success", "nv_inference_count", "nv_inference_queue_duration_us"):
        expect_in(f'{metric}{{model="AddSub",version="1"}}'.encode(), body)
