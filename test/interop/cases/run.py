"""Runs the cases: every function of the files below that needs no argument and whose name is not private.

A function's name is the sentence that it proves. `run.py word…` runs the cases whose file or name has one of the words.
"""

import asyncio
import importlib
import inspect
import logging
import signal
import sys
import time

FILES = [
    "http_client",
    "http_asyncio",
    "grpc_client",
    "grpc_asyncio",
    "grpc_streams",
    "sequences",
    "ocr",
    "shared_memory",
    "distinct",
    "management",
    "restrictions",
    "encryption",
    "pytriton_clients",
    "command_line",
    "http2",
    "perf_analyzer",
    "rolling",
]
SECONDS_A_CASE = 60


class TooSlow(Exception):
    pass


def alarm(*_):
    raise TooSlow(f"not done after {SECONDS_A_CASE} seconds")


def cases_of(file):
    module = importlib.import_module(file)
    for name, function in vars(module).items():
        own = inspect.isfunction(function) and function.__module__ == file
        if own and not name.startswith("_") and not inspect.signature(function).parameters:
            yield name, function


def run(function):
    if inspect.iscoroutinefunction(function):
        asyncio.run(function())
    else:
        function()


def main(words):
    signal.signal(signal.SIGALRM, alarm)
    logging.disable(logging.CRITICAL)  # the clients' own log of what they also raise
    counts = {"ok": 0, "FAIL": 0}
    start = time.monotonic()
    for file in FILES:
        for name, function in cases_of(file):
            title = f"{file}: {name.replace('_', ' ')}"
            if words and not any(word in f"{file}: {name}" or word in title for word in words):
                continue
            signal.alarm(SECONDS_A_CASE)
            try:
                run(function)
                outcome, reason = "ok", ""
            except Exception as error:  # whatever a client throws is a case's failure
                place = [frame.lineno for frame in inspect.getinnerframes(error.__traceback__) if frame.filename.endswith(f"/{file}.py")]
                outcome = "FAIL"
                reason = f" (line {place[-1] if place else '?'}: {type(error).__name__}: {' '.join(str(error).split())[:300]})"
            finally:
                signal.alarm(0)
            counts[outcome] += 1
            print(f"{outcome} {title}{reason}", flush=True)
    print(f"{counts['ok']} ok, {counts['FAIL']} failed, {time.monotonic() - start:.0f} s")
    return 0 if counts["FAIL"] == 0 and counts["ok"] > 0 else 1


sys.exit(main(sys.argv[1:]))
