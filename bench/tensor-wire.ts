// Builds requests for inference from tensors of FP32, in the three forms that are measured, without the codecs under test.

import { lengthDelimited, packedIntegers } from './protobuf-bytes.js';

export interface WireTensor {
  readonly name: string;
  readonly shape: readonly number[];
  /** The elements' bytes, little-endian. */
  readonly bytes: Buffer;
}

export interface HttpForm {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

const DATATYPE = 'FP32';

/** The bytes of a row; this machine is little-endian. */
export function bytesOf(values: Float32Array): Buffer {
  return Buffer.from(values.buffer, values.byteOffset, values.byteLength);
}

export function jsonForm(value: object): HttpForm {
  return { headers: { 'content-type': 'application/json' }, body: Buffer.from(JSON.stringify(value)) };
}

export function jsonTensor({ name, shape, bytes }: WireTensor): object {
  const data = Array.from({ length: bytes.length / 4 }, (_, i) => bytes.readFloatLE(i * 4));
  return { name, datatype: DATATYPE, shape, data };
}

/** JSON in front of the tensors' bytes, which the members `kind` of `head` describe. */
export function binaryForm(kind: 'inputs' | 'outputs', tensors: readonly WireTensor[], head: object): HttpForm {
  const described = tensors.map(({ name, shape, bytes }) => {
    return { name, datatype: DATATYPE, shape, parameters: { binary_data_size: bytes.length } };
  });
  const json = Buffer.from(JSON.stringify({ ...head, [kind]: described }));
  return {
    headers: { 'content-type': 'application/octet-stream', 'inference-header-content-length': String(json.length) },
    body: Buffer.concat([json, ...tensors.map(({ bytes }) => bytes)]),
  };
}

/** A request whose outputs are to be binary too. */
export function binaryRequestOf(tensors: readonly WireTensor[], id: string): HttpForm {
  return binaryForm('inputs', tensors, { id, parameters: { binary_data_output: true } });
}

/** A ModelInferRequest with raw_input_contents. */
export function grpcRequestOf(model: string, tensors: readonly WireTensor[], id: string): Buffer {
  return Buffer.concat([
    lengthDelimited(1, model),
    lengthDelimited(3, id),
    ...tensors.map(({ name, shape }) => {
      return lengthDelimited(
        5,
        Buffer.concat([lengthDelimited(1, name), lengthDelimited(2, DATATYPE), packedIntegers(3, shape)]),
      );
    }),
    ...tensors.map(({ bytes }) => lengthDelimited(7, bytes)),
  ]);
}

/** How many requests a load sends in turns, so that an answer to another one is seen. */
export const REQUESTS = 16;

/** The ids of these requests, equally long. */
export const IDS: readonly string[] = Array.from({ length: REQUESTS }, (_, i) => `request-${10 + i}`);

/** Throws unless an answer ends with these bytes, as an answer with one binary output does. */
export function checkTail(what: string, answer: Buffer, expected: Buffer): void {
  if (answer.subarray(-expected.length).equals(expected)) return;
  throw new Error(`wrong answer of ${what}: ${answer.length} bytes that do not end with the expected ones`);
}
