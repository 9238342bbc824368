// The add-sub workload as requests of sequences: 16 sequences, each with its own id and values, with START and END.

import { VALUES } from './identity-wire.js';
import { integer, lengthDelimited } from './protobuf-bytes.js';
import type { HttpForm, WireTensor } from './tensor-wire.js';
import { binaryForm, bytesOf, grpcRequestOf, IDS } from './tensor-wire.js';

/** Requests of a sequence; perf_analyzer's default. */
export const SEQUENCE_LENGTH = 20;

interface SequencedRequest {
  readonly id: string;
  /** Which of the values it has. */
  readonly values: number;
  readonly sequence: number;
  readonly start: boolean;
  readonly end: boolean;
}

/** One sequence after the other. */
const REQUESTS: readonly SequencedRequest[] = IDS.flatMap((id, k) =>
  Array.from({ length: SEQUENCE_LENGTH }, (_, i) => {
    const values = (k + i) % VALUES.length;
    return { id, values, sequence: 1000 + k, start: i === 0, end: i === SEQUENCE_LENGTH - 1 };
  }),
);

/** The values of a request, by its number. */
export const valuesOfSequenced = (index: number): number => REQUESTS[index]!.values;

const tensorsOf = ({ values }: SequencedRequest): readonly WireTensor[] =>
  ['a', 'b'].map((name, i) => ({ name, shape: [1, 16], bytes: bytesOf(VALUES[values]![i]!) }));

export const sequencedBinaryRequests: readonly HttpForm[] = REQUESTS.map((request) => {
  const { id, sequence, start, end } = request;
  const flags = { sequence_id: sequence, sequence_start: start, sequence_end: end };
  return binaryForm('inputs', tensorsOf(request), { id, parameters: { binary_data_output: true, ...flags } });
});

/** All equally long: a flag is also there where it is false. */
export const sequencedGrpcRequestsOf = (model: string): readonly Buffer[] =>
  REQUESTS.map((request) => {
    const { id, sequence, start, end } = request;
    return Buffer.concat([
      grpcRequestOf(model, tensorsOf(request), id),
      parameter('sequence_id', integer(2, sequence)),
      parameter('sequence_start', integer(1, Number(start))),
      parameter('sequence_end', integer(1, Number(end))),
    ]);
  });

/** An entry of the map `parameters`. */
function parameter(name: string, value: Buffer): Buffer {
  return lengthDelimited(4, Buffer.concat([lengthDelimited(1, name), lengthDelimited(2, value)]));
}
