"""What the cases share: the servers' addresses, tensors of every datatype, and how a refusal is expected."""

import contextlib
import hashlib
import json
import os

import numpy as np
import tritonclient.grpc
import tritonclient.http
from tritonclient.utils import InferenceServerException

SERVERS = json.loads(os.environ["INTEROP_SERVERS"])
CERTIFICATES = os.environ["INTEROP_CERTIFICATES"]


def address(protocol, server="open"):
    return f"localhost:{SERVERS[server][protocol]}"


def http_client(server="open", **options):
    return tritonclient.http.InferenceServerClient(address("http", server), **options)


def grpc_client(server="open", **options):
    return tritonclient.grpc.InferenceServerClient(address("grpc", server), **options)


# What survives a round trip hardest: the limits, signs of zero, infinities, NaN, bytes that are no text.
VALUES = {
    "BOOL": np.array([True, False, True], dtype=np.bool_),
    "INT8": np.array([-128, 0, 127], dtype=np.int8),
    "INT16": np.array([-32768, 0, 32767], dtype=np.int16),
    "INT32": np.array([-(2**31), 0, 2**31 - 1], dtype=np.int32),
    "INT64": np.array([-(2**63), 2**53 + 1, 2**63 - 1], dtype=np.int64),
    "UINT8": np.array([0, 1, 255], dtype=np.uint8),
    "UINT16": np.array([0, 1, 65535], dtype=np.uint16),
    "UINT32": np.array([0, 1, 2**32 - 1], dtype=np.uint32),
    "UINT64": np.array([0, 2**53 + 1, 2**63 - 1], dtype=np.uint64),
    "FP16": np.array([-0.0, 65504.0, np.inf], dtype=np.float16),
    "BF16": np.array([-0.0, 1.5, np.inf], dtype=np.float32),
    "FP32": np.array([-0.0, 1e-45, -np.inf], dtype=np.float32),
    "FP64": np.array([-0.0, 5e-324, np.nan], dtype=np.float64),
    "BYTES": np.array([b"", b"\x00\xff\x00", "žluť 🐎".encode()], dtype=np.object_),
}


def identity_input(module, datatype, **options):
    """Two equal rows of the datatype's values, for the model Identity<datatype>."""
    rows = np.stack([VALUES[datatype]] * 2)
    tensor = module.InferInput("x", list(rows.shape), datatype)
    tensor.set_data_from_numpy(rows, **options)
    return rows, tensor


def tensor_of(module, name, values, dtype, **options):
    array = np.array(values, dtype=dtype)
    tensor = module.InferInput(name, list(array.shape), tritonclient.utils.np_to_triton_dtype(array.dtype))
    tensor.set_data_from_numpy(array, **options)
    return tensor


def _add_sub_values(number):
    """Of the request with this number, which differs from the others in length too."""
    steps = np.arange(1, 4 + number % 50, dtype=np.float32)[None]
    return steps + number, steps * 10


def add_sub_inputs(module, number=0, **options):
    a, b = _add_sub_values(number)
    return [tensor_of(module, "a", a, np.float32, **options), tensor_of(module, "b", b, np.float32, **options)]


def expect_add_sub(result, number=0):
    a, b = _add_sub_values(number)
    expect_same(result.as_numpy("add"), a + b)
    expect_same(result.as_numpy("sub"), a - b)


class Question:
    """A request that is like no other, and its answer: for the model Keyed, which answers from all that a request says."""

    SIZES = (1, 100, 4095, 4096, 4097, 16383, 16384, 16385, 65535, 65536, 65537)
    LARGE_EVERY = 40
    LARGE_SIZES = (2**20 - 1, 2**20 + 1, 2**24 + 1)

    def __init__(self, number):
        turn, rest = divmod(number, self.LARGE_EVERY)
        size = self.LARGE_SIZES[turn % 3] if rest == self.LARGE_EVERY - 1 else self.SIZES[number % len(self.SIZES)]
        self.is_small = size < 5000
        filling = "." * (number * 7 % 300)
        answer_size = self.SIZES[(number * 3 + 1) % len(self.SIZES)]
        self.x = np.random.default_rng(number).integers(0, 256, (1, size), dtype=np.uint8)
        self.id = f"{number}{filling}"
        self.header = {"interop-own": f"{number} {filling}".strip()}
        self.parameters = {"size": answer_size, "number": number, "filling": f"{filling}{number}"}
        # Over a stream the requests have no headers of their own.
        self.answer, self.answer_without_header = (self._answer(headers) for headers in (self.header, {}))

    def _answer(self, headers):
        named = sorted(f"{name}={value}" for name, value in {**self.parameters, **headers}.items())
        told = ",".join([self.id, *named])
        key = np.frombuffer(hashlib.sha256(told.encode() + self.x.tobytes()).digest(), np.uint8)
        indices = np.arange(self.parameters["size"])
        return told, (key[indices % 32] ^ (indices >> 5 & 255)).astype(np.uint8)[None]

    def inputs(self, module, **options):
        return [tensor_of(module, "x", self.x, np.uint8, **options)]

    def expect(self, result, has_header=True):
        told, y = self.answer if has_header else self.answer_without_header
        # Strings of an answer in JSON come as texts.
        (got,) = result.as_numpy("told").reshape(-1)
        expect_equal(got if isinstance(got, str) else got.decode(), told)
        expect_same(result.as_numpy("y"), y)
        response = result.get_response()
        expect_equal(response["id"] if isinstance(response, dict) else response.id, self.id)


def expect_equal(got, expected):
    if got != expected:
        raise AssertionError(f"expected {expected!r}, got {got!r}")


def expect_same(got, expected):
    """The same datatype, shape and bits; NaN equals NaN, -0 does not equal 0."""
    if got is None:
        raise AssertionError(f"expected {expected!r}, got no tensor")
    expect_equal((got.dtype, got.shape), (expected.dtype, expected.shape))
    equal = got.tolist() == expected.tolist() if got.dtype == np.object_ else got.tobytes() == expected.tobytes()
    if not equal:
        raise AssertionError(f"expected {expected.tolist()!r}, got {got.tolist()!r}")


def expect_in(part, whole):
    if part not in whole:
        raise AssertionError(f"expected {part!r} in {whole!r}")


@contextlib.contextmanager
def refused(message, status=None):
    """Expects tritonclient's error with this text in its message, and this status ('400', 'StatusCode.NOT_FOUND')."""
    try:
        yield
    except InferenceServerException as error:
        expect_in(message, error.message())
        if status is not None:
            expect_equal(error.status(), status)
        return
    raise AssertionError(f"expected an error with {message!r}, got none")
