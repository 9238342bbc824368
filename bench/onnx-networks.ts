// The networks of the onnx suite, by the names that its options and its processes are given.

import { conv } from './onnx-conv.js';
import { mlp } from './onnx-mlp.js';
import type { OnnxNetwork } from './onnx-network.js';

export const NETWORKS = { mlp, conv } as const satisfies Readonly<Record<string, OnnxNetwork>>;
export type NetworkName = keyof typeof NETWORKS;
export const NETWORK_NAMES = Object.keys(NETWORKS) as readonly NetworkName[];

/** The network that a process's argument names. */
export function networkNamed(name: string | undefined): OnnxNetwork {
  const known = NETWORK_NAMES.find((one) => one === name);
  if (known === undefined) throw new Error(`unknown network '${name}', expected one of ${NETWORK_NAMES.join(', ')}`);
  return NETWORKS[known];
}
