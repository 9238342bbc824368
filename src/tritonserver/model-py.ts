// The text of `model.py`, which tritonserver's python backend runs for each instance of a bound model. It hands batches to
// the process that bound the model, and its answers back; see frame.ts for the wire. It needs nothing that the backend does
// not bring along.

export const MODEL_PY = String.raw`# Written by TSTriton: hands the batches of this model to the process that bound it.
import json
import os
import socket
import struct

import numpy as np
import triton_python_backend_utils as pb

PROTOCOL = 1
HELLO, WELCOME, REFUSED, BATCH, CANCEL, RESULTS, RESPONSES, GOODBYE = 1, 2, 3, 4, 5, 6, 7, 8
FAILED, OUTPUTS, AGAIN, FINAL, ENDED = 0, 1, 2, 3, 4
PREFIX = struct.Struct("<8I")
LOW = 0xFFFFFFFF
ZEROS = bytes(8)
# The kernel does not take many more pieces at once.
MOST_PIECES = 1000
ROOM = 1 << 20
# While a batch takes longer, its requests are asked this often whether they are cancelled.
CANCEL_SECONDS = 0.1
# A machine that has not acknowledged bytes for so long has vanished.
SILENT_MILLISECONDS = 20000
COMPLETE = pb.TRITONSERVER_RESPONSE_COMPLETE_FINAL


class Gone(Exception):
    """The process that bound the model cannot be reached."""


class Connection:
    """Frames to and from the process that bound the model."""

    def __init__(self, address):
        if address.startswith("/"):
            self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self.socket.connect(address)
        else:
            host, port = address.rsplit(":", 1)
            self.socket = socket.create_connection((host.strip("[]"), int(port)))
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            # The other machine may vanish without a word. While bytes are under way, the kernel does not probe; see 'expect_alive'.
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            for option, value in (("TCP_KEEPIDLE", 5), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3)):
                self.socket.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
        # The kernel ends a wait for bytes. Python's own timeouts would ask it once more each time.
        timeout = struct.pack("ll", int(CANCEL_SECONDS), int(CANCEL_SECONDS % 1 * 1e6))
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, timeout)
        self.buffer = bytearray(ROOM)
        self.view = memoryview(self.buffer)
        # Where the bytes that were received and not taken yet begin and end.
        self.start = 0
        self.end = 0

    def send(self, kind, number, count, words, pieces=(), size=0, extras=None):
        """Sends a frame whose tensors are these pieces, of so many bytes together."""
        text = b""
        if extras is not None:
            text = json.dumps(extras).encode()
            text += b" " * (-len(text) & 7)
        if len(words) & 1:
            words.append(0)
        head = struct.pack("<%dI" % (8 + len(words)), kind, len(words), len(text), size & LOW, size >> 32, number, count, 0, *words)
        pieces = [head + text, *pieces]
        try:
            sent = self.socket.sendmsg(pieces if len(pieces) <= MOST_PIECES else pieces[:MOST_PIECES])
            if sent < len(pieces[0]) + size:
                self.send_rest(pieces, sent)
        except OSError as error:
            raise Gone(str(error)) from error

    def send_rest(self, pieces, sent):
        for piece in pieces:
            length = memoryview(piece).nbytes
            if sent < length:
                self.socket.sendall(np.frombuffer(piece, np.uint8)[sent:])
            sent = max(0, sent - length)

    def receive(self):
        """The next frame: its kind, its entries, its head, its extras, and where in the buffer its tensors begin."""
        while self.end - self.start < PREFIX.size:
            self.fill(PREFIX.size)
        kind, words, length, low, high, _, count, _ = PREFIX.unpack_from(self.buffer, self.start)
        size = PREFIX.size + 4 * words + length + low + (high << 32)
        while self.end - self.start < size:
            self.fill(size)
        at = self.start + PREFIX.size
        self.start += size
        head = struct.unpack_from("<%dI" % words, self.buffer, at)
        at += 4 * words
        extras = json.loads(self.buffer[at:at + length]) if length else {}
        return kind, count, head, extras, at + length

    def expect_alive(self):
        """Raises Gone when the other machine has vanished with bytes under way to it: TCP itself repeats them for 15 minutes."""
        if self.socket.family == socket.AF_UNIX:
            return
        # unacked and last_ack_recv of Linux's struct tcp_info. A machine that is only busy acknowledges.
        info = self.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 60)
        unacked, since = struct.unpack_from("=I28xI", info, 24)
        if unacked and since > SILENT_MILLISECONDS:
            raise Gone("it has been silent for %d seconds" % (since // 1000))

    def fill(self, size):
        """Receives more of a frame of so many bytes. Raises TimeoutError when nothing came for a while."""
        if self.start == self.end:
            self.start = self.end = 0
        if self.start + size > len(self.buffer) or (self.end == 0 and size <= ROOM < len(self.buffer)):
            # The tensors of earlier frames have been handed on.
            rest = self.buffer[self.start:self.end]
            self.buffer = bytearray(max(size, ROOM))
            self.view = memoryview(self.buffer)
            self.start, self.end = 0, len(rest)
            self.view[:self.end] = rest
        try:
            got = self.socket.recv_into(self.view[self.end:])
        except BlockingIOError:
            raise TimeoutError() from None
        except OSError as error:
            raise Gone(str(error)) from error
        if got == 0:
            raise Gone("it closed the connection")
        self.end += got


class TritonPythonModel:
    def initialize(self, args):
        config = json.loads(args["model_config"])
        inputs, outputs = config["input"], config["output"]
        self.inputs = [entry["name"] for entry in inputs]
        self.are_bytes = [entry["data_type"] == "TYPE_STRING" for entry in inputs]
        self.outputs = [entry["name"] for entry in outputs]
        # None stands for BYTES.
        self.dtypes = [dtype_of(entry["data_type"]) for entry in outputs]
        self.decoupled = config.get("model_transaction_policy", {}).get("decoupled", False)
        self.number = 0
        with open(os.path.join(args["model_repository"], args["model_version"], "tstriton.json")) as file:
            place = json.load(file)
        try:
            self.connection = Connection(place["address"])
            hello = {"protocol": PROTOCOL, "key": place["key"], "instance": args["model_instance_name"]}
            self.connection.send(HELLO, 0, 0, [], extras=hello)
            kind, _, _, extras, _ = self.wait(lambda: None)
        except (OSError, Gone) as error:
            raise pb.TritonModelException("cannot reach the process that bound the model: %s" % error) from None
        if kind != WELCOME:
            raise pb.TritonModelException(extras.get("error", "the process that bound the model refused its instance"))

    def execute(self, requests):
        number = self.number = (self.number + 1) & LOW
        if self.decoupled:
            return self.execute_decoupled(number, requests)
        try:
            self.send(number, requests)
            _, _, head, extras, at = self.wait(self.canceller(number, requests))
        except Gone as error:
            return [pb.InferenceResponse(error=gone(error)) for _ in requests]
        responses = []
        where = 0
        for index, request in enumerate(requests):
            status = head[where]
            where += 1
            if status == OUTPUTS:
                tensors, where, at = self.tensors(head, where, at)
                responses.append(response_of(tensors, extras, index))
            elif status == AGAIN:
                request.set_release_flags(pb.TRITONSERVER_REQUEST_RELEASE_RESCHEDULE)
                responses.append(None)
            else:
                responses.append(pb.InferenceResponse(error=error_of(extras, index)))
        return responses

    def execute_decoupled(self, number, requests):
        senders = [request.get_response_sender() for request in requests]
        unended = set(range(len(requests)))
        cancel = self.canceller(number, requests)
        try:
            self.send(number, requests)
            while True:
                kind, count, head, extras, at = self.wait(cancel)
                if kind == RESULTS:
                    break
                where = 0
                for entry in range(count):
                    status, index = head[where], head[where + 1]
                    where += 2
                    response = None
                    if status in (OUTPUTS, FINAL):
                        tensors, where, at = self.tensors(head, where, at)
                        response = response_of(tensors, extras, entry)
                    elif status == FAILED:
                        response = pb.InferenceResponse(error=error_of(extras, entry))
                    if status == OUTPUTS:
                        senders[index].send(response)
                    else:
                        unended.discard(index)
                        end(senders[index], response)
        except Gone as error:
            for index in unended:
                end(senders[index], pb.InferenceResponse(error=gone(error)))
            return None
        for index, request in enumerate(requests):
            if head[index] == AGAIN:
                request.set_release_flags(pb.TRITONSERVER_REQUEST_RELEASE_RESCHEDULE)
            elif index in unended:
                end(senders[index], None)
        return None

    def finalize(self):
        try:
            self.connection.send(GOODBYE, 0, 0, [])
        except Gone:
            pass
        self.connection.socket.close()

    def send(self, number, requests):
        names, are_bytes = self.inputs, self.are_bytes
        count = len(names)
        words, pieces, size, extras = [], [], 0, None
        for index, request in enumerate(requests):
            given = request.inputs()
            if [tensor.name() for tensor in given] != names:
                by_name = {tensor.name(): tensor for tensor in given}
                given = [by_name.get(name) for name in names]
            for i in range(count):
                if given[i] is None:
                    words.append(0)
                    continue
                data = given[i].as_numpy()
                shape = data.shape
                if are_bytes[i]:
                    data = bytes_of(data)
                    length = len(data)
                else:
                    length = data.nbytes
                words += (len(shape) + 1, *shape, length & LOW, length >> 32)
                if length:
                    pieces.append(data)
                    size += length
                    if length & 7:
                        pieces.append(ZEROS[length & 7:])
                        size += 8 - (length & 7)
            extras = self.extras(extras, index, request, len(requests))
        self.connection.send(BATCH, number, len(requests), words, pieces, size, extras)

    def extras(self, extras, index, request, count):
        """Notes what few requests have."""
        found = []
        identity = request.request_id()
        if identity:
            found.append(("ids", identity))
        parameters = request.parameters()
        if len(parameters) > 2:
            found.append(("parameters", {name: exact(value) for name, value in json.loads(parameters).items()}))
        wanted = request.requested_output_names()
        if len(wanted) != len(self.outputs):
            found.append(("outputs", list(wanted)))
        sequence, flags = request.correlation_id(), request.flags()
        if sequence or flags & 3:
            found.append(("sequences", [isinstance(sequence, str), str(sequence), flags]))
        timeout = request.timeout()
        if timeout:
            found.append(("timeouts", timeout))
        if found:
            extras = extras or {}
            for name, value in found:
                extras.setdefault(name, [None] * count)[index] = value
        return extras

    def wait(self, idle):
        """The next frame; calls idle whenever nothing came for a while."""
        while True:
            try:
                return self.connection.receive()
            except TimeoutError:
                self.connection.expect_alive()
                idle()

    def canceller(self, number, requests):
        """A function that tells which requests are cancelled by now."""
        told = set()

        def tell():
            gone = [index for index, request in enumerate(requests) if index not in told and request.is_cancelled()]
            if gone:
                told.update(gone)
                self.connection.send(CANCEL, number, len(gone), gone)

        return tell

    def tensors(self, head, where, at):
        """The outputs that begin there in the head and in the buffer, and where they end."""
        buffer = self.connection.buffer
        tensors = []
        count = head[where]
        where += 1
        for _ in range(count):
            output, rank = head[where], head[where + 1] - 1
            where += 2
            shape = head[where:where + rank]
            length = head[where + rank] + (head[where + rank + 1] << 32)
            where += rank + 2
            dtype = self.dtypes[output]
            if dtype is None:
                data = elements_of(buffer, at, length)
            else:
                data = np.frombuffer(buffer, dtype, length // dtype.itemsize, at)
            tensors.append(pb.Tensor(self.outputs[output], data.reshape(shape)))
            at += length + (-length & 7)
        return tensors, where, at


def dtype_of(name):
    return None if name == "TYPE_STRING" else np.dtype(pb.triton_string_to_numpy(name))


def bytes_of(elements):
    """The elements of a BYTES tensor, each after its length."""
    pieces = []
    for element in elements.ravel():
        if isinstance(element, str):
            element = element.encode()
        pieces.append(len(element).to_bytes(4, "little"))
        pieces.append(element)
    return b"".join(pieces)


def elements_of(buffer, at, length):
    elements = []
    end = at + length
    while at < end:
        size = int.from_bytes(buffer[at:at + 4], "little")
        at += 4
        elements.append(bytes(buffer[at:at + size]))
        at += size
    data = np.empty(len(elements), np.object_)
    data[:] = elements
    return data


def exact(value):
    """JavaScript has no larger integers in JSON."""
    return {"int": str(value)} if isinstance(value, int) and abs(value) > 2**53 - 1 else value


def response_of(tensors, extras, index):
    parameters = extras.get("parameters", {}).get(str(index))
    if parameters is None:
        return pb.InferenceResponse(tensors)
    if "parameters" in pb.InferenceResponse.__init__.__doc__:
        parameters = {name: int(value["int"]) if isinstance(value, dict) else value for name, value in parameters.items()}
        return pb.InferenceResponse(tensors, parameters=parameters)
    message = "the model answers with parameters, which the python backend of this tritonserver does not take: it is too old"
    return pb.InferenceResponse(error=pb.TritonError(message, pb.TritonError.UNSUPPORTED))


def end(sender, response):
    if response is None:
        sender.send(flags=COMPLETE)
    else:
        sender.send(response, flags=COMPLETE)


def error_of(extras, index):
    code, message = extras["errors"][str(index)]
    return pb.TritonError(message, getattr(pb.TritonError, code, pb.TritonError.INTERNAL))


def gone(error):
    return pb.TritonError("the process that bound the model is gone: %s" % error, pb.TritonError.UNAVAILABLE)
`;
