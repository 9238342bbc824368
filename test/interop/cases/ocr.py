"""tritonclient has the pipeline of examples/ocr read the page that the example draws, whose text is known."""

import json
import pathlib

import numpy as np
import tritonclient.grpc as grpc
import tritonclient.http as http
from support import CERTIFICATES, expect_equal, grpc_client, http_client, refused, tensor_of

FOLDER = pathlib.Path(CERTIFICATES)


def _expect_the_page_is_read(client, module):
    image = (FOLDER / "ocr.jpg").read_bytes()
    result = client.infer("Ocr", [tensor_of(module, "image", [image], np.object_)])
    # The network often leaves out the space between two words.
    read = [line.decode().replace(" ", "") for line in result.as_numpy("text")]
    expect_equal(read, [line.replace(" ", "") for line in json.loads((FOLDER / "ocr.json").read_text())])
    confidence, boxes = result.as_numpy("confidence"), result.as_numpy("boxes")
    expect_equal((confidence.shape, boxes.shape), ((len(read),), (len(read), 4, 2)))
    expect_equal(bool((confidence > 0.5).all()), True)


def a_photograph_is_read_over_http():
    with http_client("ocr") as client:
        _expect_the_page_is_read(client, http)


def a_photograph_is_read_over_grpc():
    with grpc_client("ocr") as client:
        _expect_the_page_is_read(client, grpc)


def bytes_that_are_no_picture_are_refused():
    for module, open_client, status in ((http, http_client, "400"), (grpc, grpc_client, "StatusCode.INVALID_ARGUMENT")):
        with open_client("ocr") as client, refused("picture", status):
            client.infer("Ocr", [tensor_of(module, "image", [b"no picture"], np.object_)])
