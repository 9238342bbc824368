"""NVIDIA's perf_analyzer: every run has to end well, with throughput at each level and statistics of the server."""

import csv
import json
import os
import subprocess
import tempfile

from support import CERTIFICATES, address, expect_equal, expect_in

SHAPES = ("--shape", "a:16", "--shape", "b:16")
COUNT = {"data": [{"n": [3]}]}


def _perf(model, protocol, *options, server="open", levels=1):
    """Short windows, and any spread is stable: this is about being served, not about figures."""
    with tempfile.TemporaryDirectory() as folder:
        report = f"{folder}/report.csv"
        command = [
            "perf_analyzer", "-m", model, "-u", address(protocol, server), "-i", protocol, "-f", report,
            "--measurement-interval", "250", "--stability-percentage", "999", *options,
        ]
        environment = {**os.environ, "LD_LIBRARY_PATH": os.environ["INTEROP_LIBRARIES"]}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=55)
        if done.returncode != 0:
            raise AssertionError(f"ended with {done.returncode}: {(done.stderr or done.stdout)[-300:]}")
        with open(report, newline="") as file:
            rows = list(csv.DictReader(file))
    expect_equal(len(rows), levels)
    for row in rows:
        if not float(row["Inferences/Second"]) > 0:
            raise AssertionError(f"no inferences: {row}")
    return done.stdout


def _perf_with_data(model, data, *options):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(data, file)
        file.flush()
        return _perf(model, "grpc", "--input-data", file.name, *options)


def http_at_concurrency_1_to_16():
    out = _perf("AddSub", "http", *SHAPES, "--concurrency-range", "1:16", levels=16)
    expect_in("Successful request count", out)


def grpc_at_concurrency_1_to_16():
    out = _perf("AddSub", "grpc", *SHAPES, "--concurrency-range", "1:16", levels=16)
    expect_in("Successful request count", out)


def grpc_asynchronously():
    _perf("AddSub", "grpc", *SHAPES, "--async", "--concurrency-range", "4")


def grpc_streaming_on_an_ordinary_model():
    _perf("AddSub", "grpc", *SHAPES, "--streaming", "--async", "--concurrency-range", "4")


def string_data_over_both_protocols():
    for protocol in ("http", "grpc"):
        _perf("Upper", protocol, "--string-data", "žluť", "--concurrency-range", "2")
        _perf("Upper", protocol, "--string-length", "100", "--concurrency-range", "2")


def json_tensors_both_ways():
    _perf("AddSub", "http", *SHAPES, "--input-tensor-format", "json", "--output-tensor-format", "json")


def batches_and_request_rates():
    _perf("AddSub", "http", *SHAPES, "-b", "8")
    _perf("AddSub", "grpc", *SHAPES, "--request-rate-range", "200")


def streaming_on_a_decoupled_model():
    out = _perf_with_data("Count", COUNT, "--streaming", "--async", "--concurrency-range", "2")
    expect_in("Response Throughput", out)


def system_shared_memory_over_both_protocols():
    for protocol in ("http", "grpc"):
        _perf("AddSub", protocol, *SHAPES, "--shared-memory", "system", "--output-shared-memory-size", "64", "--concurrency-range", "2")


def compressed_grpc_messages():
    _perf("AddSub", "grpc", *SHAPES, "--grpc-compression-algorithm", "gzip")


def parameters_of_requests():
    _perf("Parameters", "grpc", "--request-parameter", "temperature:7:int")


def statistics_behind_a_header():
    _perf("AddSub", "http", *SHAPES, "-H", "interop-key:secret", server="guarded")
    _perf("AddSub", "grpc", *SHAPES, "-H", "triton-grpc-protocol-interop-key:secret", server="guarded")


def tls():
    _perf("AddSub", "http", *SHAPES, "-u", f"https://{address('http', 'secure')}", "--ssl-https-ca-certificates-file", f"{CERTIFICATES}/ca.pem", server="secure")
    _perf("AddSub", "grpc", *SHAPES, "--ssl-grpc-use-ssl", "--ssl-grpc-root-certifications-file", f"{CERTIFICATES}/ca.pem", server="secure")


def trace_settings_before_a_run():
    _perf("AddSub", "http", *SHAPES, "--trace-level", "OFF")


def metrics_of_the_server():
    _perf("AddSub", "http", *SHAPES, "--collect-metrics", "--metrics-url", f"{address('metrics')}/metrics", "--metrics-interval", "200")


def _perf_sequences(protocol, *options, model="Total"):
    out = _perf(model, protocol, "--num-of-sequences", "8", "--sequence-length", "12", *options)
    expect_in("Successful request count", out)


def sequences_at_a_request_rate():
    for protocol in ("http", "grpc"):
        _perf_sequences(protocol, "--request-rate-range", "100")


def sequences_at_a_concurrency():
    _perf_sequences("http", "--concurrency-range", "8")
    _perf_sequences("grpc", "--concurrency-range", "8", "--async", "--streaming")


def sequences_under_the_oldest_strategy():
    _perf_sequences("grpc", "--concurrency-range", "8", "--async", "--streaming", model="OldestTotal")
