"""Whether model.py, on standard input, sees that the process that bound the model has vanished with bytes under way to it.

A filter that drops whatever comes to its socket plays the network that is gone. A process that only does not read stays.
"""

import ctypes
import socket
import struct
import sys
import threading
import time
import types

SO_ATTACH_FILTER = 26

backend = types.ModuleType("triton_python_backend_utils")
backend.TRITONSERVER_RESPONSE_COMPLETE_FINAL = 1
sys.modules["triton_python_backend_utils"] = backend
model = {}
exec(compile(sys.stdin.read(), "model.py", "exec"), model)

server = socket.create_server(("127.0.0.1", 0))


def connect():
    connection = model["Connection"]("127.0.0.1:%d" % server.getsockname()[1])
    return connection, server.accept()[0]


def seen_within(connection, seconds):
    """After how long it is seen that the other side has vanished; None when it is not."""
    began = time.monotonic()
    while time.monotonic() - began < seconds:
        try:
            connection.expect_alive()
        except model["Gone"]:
            return time.monotonic() - began
        time.sleep(0.1)
    return None


def drop_all(peer):
    instructions = ctypes.create_string_buffer(struct.pack("HBBI", 0x06, 0, 0, 0))
    peer.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, struct.pack("HL", 1, ctypes.addressof(instructions)))


results = {}


def vanished(connection, peer):
    drop_all(peer)
    connection.send(3, 1, 0, [])
    results["vanished"] = seen_within(connection, 120)
    peer.close()


def busy(connection, peer):
    connection.socket.setblocking(False)
    try:
        while True:
            connection.socket.send(bytes(1 << 20))
    except BlockingIOError:
        pass
    results["busy"] = seen_within(connection, 30)
    peer.close()


threads = [threading.Thread(target=each, args=connect()) for each in (vanished, busy)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
if results["vanished"] is None:
    sys.exit("FAIL a machine that has vanished is not seen within two minutes")
if results["busy"] is not None:
    sys.exit("FAIL a process that does not read counts as vanished after %.1f s" % results["busy"])
print("ok   a machine that has vanished is seen after %.1f s, and one that is busy stays" % results["vanished"])
