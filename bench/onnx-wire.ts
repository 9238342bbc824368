// A network's row as requests that differ in their ids, over HTTP binary and gRPC, and the check that an answer ends with the
// network's output. The rows are equal, as the output of one row is known.

import type { OnnxNetwork } from './onnx-network.js';
import { binaryRequestOf, bytesOf, checkTail, grpcRequestOf, IDS } from './tensor-wire.js';
import type { HttpForm, WireTensor } from './tensor-wire.js';

const inputsOf = ({ input }: OnnxNetwork): readonly WireTensor[] => [
  { name: input.name, shape: [1, ...input.shape], bytes: bytesOf(input.values) },
];

export const binaryRequests = (network: OnnxNetwork): readonly HttpForm[] =>
  IDS.map((id) => binaryRequestOf(inputsOf(network), id));

export const grpcRequests = (network: OnnxNetwork): readonly Buffer[] =>
  IDS.map((id) => grpcRequestOf(network.name, inputsOf(network), id));

/** Of either wire: both end with the output's bytes. */
export function checkAnswer({ name, output }: OnnxNetwork, message: Buffer): void {
  checkTail(name, message, bytesOf(output.values));
}
