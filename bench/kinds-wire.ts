// Add-sub with rows of any length, in requests that are alike but for their values, that differ in all that surrounds their tensors,
// or that differ in their length.

import { integer, lengthDelimited } from './protobuf-bytes.js';
import { binaryForm, bytesOf, grpcRequestOf, type HttpForm, REQUESTS, type WireTensor } from './tensor-wire.js';

/** Of the rows of requests that are equally long; the others have this many on average. */
const LENGTH = 24;
const LENGTHS = 47;
/** More than the server keeps of the heads that it knows: each comes as if for the first time. */
const SURROUNDINGS = 2048;

interface AddSubRequest {
  readonly id: string;
  /** Of the inputs a and b. */
  readonly values: readonly [Float32Array, Float32Array];
  /** A parameter of the request, and a header of HTTP. */
  readonly mark?: string;
}

function request(number: number, length: number, id = `request-${10 + (number % 90)}`): AddSubRequest {
  const value = (i: number) => ((i + number) % 64) + 0.25;
  const a = Float32Array.from({ length }, (_, i) => value(i));
  return { id, values: [a, Float32Array.from(a, (x) => -2 * x)] };
}

const lengthOf = (i: number) => 1 + ((i * 5) % LENGTHS);

export const KINDS = {
  alike: Array.from({ length: REQUESTS }, (_, i) => request(i, LENGTH)),
  surroundings: Array.from({ length: SURROUNDINGS }, (_, i) => {
    return { ...request(i, LENGTH, `${i * i}-${'i'.repeat(i % 9)}`), mark: `mark-${i}` };
  }),
  lengths: Array.from({ length: LENGTHS }, (_, i) => request(i, lengthOf(i))),
  'lengths and ids': Array.from({ length: SURROUNDINGS }, (_, i) => request(i, lengthOf(i), `${i * i}`)),
} as const satisfies Readonly<Record<string, readonly AddSubRequest[]>>;

export type Kind = keyof typeof KINDS;

const tensorsOf = ({ values }: AddSubRequest): readonly WireTensor[] =>
  values.map((data, i) => ({ name: 'ab'[i]!, shape: [1, data.length], bytes: bytesOf(data) }));

export const httpRequestsOf = (kind: Kind): readonly HttpForm[] =>
  KINDS[kind].map((one: AddSubRequest) => {
    const parameters = { binary_data_output: true, ...(one.mark !== undefined && { [one.mark]: one.mark.length }) };
    const { headers, body } = binaryForm('inputs', tensorsOf(one), { id: one.id, parameters });
    return { headers: { ...headers, ...(one.mark !== undefined && { 'x-request-id': one.mark }) }, body };
  });

export const grpcRequestsOf = (model: string, kind: Kind): readonly Buffer[] =>
  KINDS[kind].map((one: AddSubRequest) => {
    const message = grpcRequestOf(model, tensorsOf(one), one.id);
    return one.mark === undefined ? message : Buffer.concat([message, parameter(one.mark, one.mark.length)]);
  });

/** An entry of the map `parameters`. */
function parameter(name: string, value: number): Buffer {
  return lengthDelimited(4, Buffer.concat([lengthDelimited(1, name), lengthDelimited(2, integer(2, value))]));
}

/** Throws unless the sums and differences are in an answer that carries raw bytes. */
export function checkKind(kind: Kind, answer: Buffer, index: number): void {
  const [a, b] = KINDS[kind][index]!.values;
  for (const expected of [a.map((x, i) => x + b[i]!), a.map((x, i) => x - b[i]!)]) {
    if (!answer.includes(bytesOf(expected))) throw new Error(`wrong answer to request ${index} of '${kind}'`);
  }
}
