// A network's row as a request, over HTTP binary and gRPC, and the check that an answer ends with the network's output.

import type { HttpForm } from './identity-wire.js';
import { bytesOf } from './onnx-network.js';
import type { OnnxNetwork } from './onnx-network.js';
import { lengthDelimited, packedIntegers } from './protobuf-bytes.js';

const DATATYPE = 'FP32';

export function binaryRequest({ input }: OnnxNetwork): HttpForm {
  const row = bytesOf(input.values);
  const parameters = { binary_data_size: row.length };
  const header = {
    inputs: [{ name: input.name, datatype: DATATYPE, shape: [1, ...input.shape], parameters }],
    parameters: { binary_data_output: true },
  };
  const json = Buffer.from(JSON.stringify(header));
  return {
    headers: {
      'content-type': 'application/octet-stream',
      'inference-header-content-length': String(json.length),
    },
    body: Buffer.concat([json, row]),
  };
}

/** A ModelInferRequest with raw_input_contents. */
export function grpcRequest({ name, input }: OnnxNetwork): Buffer {
  const tensor = [lengthDelimited(1, input.name), lengthDelimited(2, DATATYPE), packedIntegers(3, [1, ...input.shape])];
  return Buffer.concat([
    lengthDelimited(1, name),
    lengthDelimited(5, Buffer.concat(tensor)),
    lengthDelimited(7, bytesOf(input.values)),
  ]);
}

/** Of either wire: both end with the output's bytes. */
export function checkAnswer({ name, output }: OnnxNetwork, message: Buffer): void {
  const expected = bytesOf(output.values);
  if (message.subarray(-expected.length).equals(expected)) return;
  throw new Error(`wrong answer of ${name}: ${message.length} bytes that do not end with the network's output`);
}
