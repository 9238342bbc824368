"""Three servers behind haproxy, as a cluster has them: ended and started again one after the other while clients ask."""

import contextlib
import http.client
import json
import os
import pathlib
import signal
import socket
import subprocess
import tempfile
import threading
import time

import numpy as np
import tritonclient.grpc
from support import expect_equal
from tritonclient.utils import InferenceServerException

SERVER = str(pathlib.Path(__file__).parent.parent / "rolling-server.mjs")
ENVIRONMENT = {**os.environ, "LD_LIBRARY_PATH": os.environ["INTEROP_LIBRARIES"]}
CLIENTS_A_PROTOCOL = 3
HEALTH_MILLISECONDS = 200


class _Server:
    def __init__(self, ports=(0, 0)):
        self.process = subprocess.Popen(["node", SERVER, *map(str, ports)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(f"the server ended with {self.process.wait()} before it was ready")
        told = json.loads(line)
        self.ports = (told["http"], told["grpc"])

    def end(self, how):
        self.process.send_signal(how)
        code = self.process.wait(20)
        self.process.stdout.close()
        return code


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class _Balancer:
    """haproxy in front of the HTTP and the gRPC ports; both ask the server's readiness over HTTP."""

    def __init__(self, folder, servers, attempts):
        self.ports = {"http": _free_port(), "grpc": _free_port()}
        self.admin = f"{folder}/admin.sock"
        lines = [
            "global",
            f"  stats socket {self.admin} mode 600 level admin",
            "defaults",
            "  mode http",
            "  timeout connect 2s",
            "  timeout client 60s",
            "  timeout server 60s",
            f"  retries {attempts}",
            *(["  option redispatch 1"] if attempts > 0 else []),
            "  option httpchk GET /v2/health/ready",
        ]
        for protocol, extra in (("http", ""), ("grpc", " proto h2")):
            lines += [f"frontend {protocol}", f"  bind 127.0.0.1:{self.ports[protocol]}{extra}", f"  default_backend {protocol}", f"backend {protocol}", "  balance roundrobin"]
            for index, (http_port, grpc_port) in enumerate(server.ports for server in servers):
                port = http_port if protocol == "http" else grpc_port
                check = f"check check-proto h1 port {http_port} inter {HEALTH_MILLISECONDS}ms fall 1 rise 1"
                lines.append(f"  server s{index} 127.0.0.1:{port}{extra} {check}")
        file = f"{folder}/haproxy.cfg"
        pathlib.Path(file).write_text("\n".join(lines) + "\n")
        self.process = subprocess.Popen(["haproxy", "-db", "-f", file], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=ENVIRONMENT)

    def states(self):
        with socket.socket(socket.AF_UNIX) as asked:
            asked.connect(self.admin)
            asked.sendall(b"show stat\n")
            text = b"".join(iter(lambda: asked.recv(65536), b"")).decode()
        head, *rows = [line.split(",") for line in text.removeprefix("# ").splitlines() if line]
        named = [dict(zip(head, row)) for row in rows]
        return {(row["pxname"], row["svname"]): row["status"] for row in named if row["svname"].startswith("s")}

    def wait_until_all_are_up(self):
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError):
                if all(state.startswith("UP") for state in self.states().values()):
                    return
            if self.process.poll() is not None:
                raise AssertionError(f"haproxy ended: {self.process.stderr.read().decode()[-300:]}")
            time.sleep(0.02)
        raise AssertionError(f"not all servers are up: {self.states()}")

    def end(self):
        self.process.kill()
        self.process.wait()
        self.process.stderr.close()


class _Clients:
    """Ask without a pause, each on a connection of its own; every answer must be the right one."""

    def __init__(self, ports):
        self.answered = {"http": 0, "grpc": 0}
        self.failures = []
        self.stopped = threading.Event()
        self.lock = threading.Lock()
        asks = [self._http] * CLIENTS_A_PROTOCOL + [self._grpc] * CLIENTS_A_PROTOCOL
        self.threads = [threading.Thread(target=ask, args=(ports,), daemon=True) for ask in asks]
        for thread in self.threads:
            thread.start()

    def _count(self, protocol, failure=None):
        with self.lock:
            if failure is None:
                self.answered[protocol] += 1
            else:
                self.failures.append(f"{protocol}: {failure}")

    def _http(self, ports):
        connection = http.client.HTTPConnection("127.0.0.1", ports["http"], timeout=20)
        number = 0
        while not self.stopped.is_set():
            number += 1
            body = json.dumps({"inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 1], "data": [number]}]})
            try:
                connection.request("POST", "/v2/models/Negate/infer", body)
                response = connection.getresponse()
                text = response.read()
                expect_equal(response.status, 200)
                expect_equal(json.loads(text)["outputs"][0]["data"], [-number])
                self._count("http")
            except (OSError, http.client.HTTPException, AssertionError, ValueError) as error:
                self._count("http", f"{type(error).__name__}: {error}")
                connection.close()
        connection.close()

    def _grpc(self, ports):
        # A channel of each client's own: channels to one address share a connection unless told not to.
        options = [("grpc.use_local_subchannel_pool", 1), ("grpc.enable_retries", 0)]
        with tritonclient.grpc.InferenceServerClient(f"127.0.0.1:{ports['grpc']}", channel_args=options) as client:
            number = 0
            while not self.stopped.is_set():
                number += 1
                tensor = tritonclient.grpc.InferInput("x", [1, 1], "FP32")
                tensor.set_data_from_numpy(np.array([[number]], dtype=np.float32))
                try:
                    result = client.infer("Negate", [tensor], client_timeout=20)
                    expect_equal(result.as_numpy("y").tolist(), [[-number]])
                    self._count("grpc")
                except (InferenceServerException, AssertionError) as error:
                    self._count("grpc", str(error))

    def wait_for_answers(self, count):
        """Until so many more have come over each protocol."""
        before = dict(self.answered)
        deadline = time.monotonic() + 20
        while any(self.answered[protocol] < before[protocol] + count for protocol in before):
            if time.monotonic() > deadline:
                raise AssertionError(f"answers before {before}, now {self.answered}; {len(self.failures)} failures: {self.failures[:3]}")
            time.sleep(0.01)

    def stop(self):
        self.stopped.set()
        for thread in self.threads:
            thread.join(30)


@contextlib.contextmanager
def _cluster(attempts):
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as ends:
        servers = []
        ends.callback(lambda: [server.process.kill() for server in servers])
        for _ in range(3):
            servers.append(_Server())
        balancer = _Balancer(folder, servers, attempts)
        ends.callback(balancer.end)
        balancer.wait_until_all_are_up()
        clients = _Clients(balancer.ports)
        ends.callback(clients.stop)
        clients.wait_for_answers(20)
        yield servers, balancer, clients


def ten_restarts_behind_haproxy_lose_no_request():
    with _cluster(attempts=0) as (servers, balancer, clients):
        for turn in range(10):
            index = turn % len(servers)
            ports = servers[index].ports
            expect_equal(servers[index].end(signal.SIGTERM), 0)
            clients.wait_for_answers(5)
            servers[index] = _Server(ports)
            balancer.wait_until_all_are_up()
        clients.wait_for_answers(20)
        clients.stop()
        expect_equal(clients.failures, [])


def a_killed_server_loses_only_what_it_had_under_way():
    with _cluster(attempts=3) as (servers, balancer, clients):
        servers[0].end(signal.SIGKILL)
        clients.wait_for_answers(20)
        # A client has one request under way at a time, so each may have lost one.
        lost = len(clients.failures)
        if lost > 2 * CLIENTS_A_PROTOCOL:
            raise AssertionError(f"{lost} requests failed: {clients.failures[:5]}")
        servers[0] = _Server(servers[0].ports)
        balancer.wait_until_all_are_up()
        clients.wait_for_answers(20)
        clients.stop()
        expect_equal(len(clients.failures), lost)
