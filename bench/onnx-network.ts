// What a network of the onnx suite is: one row, the answer to it, and the graph that a file holds. Weights are -1, 0 or 1
// and rows are in quarters, so that every sum is exact and the answer is the same to the bit, in whatever order it is
// added up and however many rows are computed together.

export interface NetworkTensor {
  readonly name: string;
  /** Of one row: without the batch axis. */
  readonly shape: readonly number[];
  /** Of the one row that is sent again and again, and of its answer. */
  readonly values: Float32Array;
}

export interface NetworkNode {
  readonly operator: string;
  readonly inputs: readonly string[];
  readonly output: string;
  readonly attributes?: Readonly<Record<string, readonly number[]>>;
}

export interface NetworkWeight {
  readonly name: string;
  readonly shape: readonly number[];
  readonly values: Float32Array;
}

/** FP32 with one input and one output, both with a batch axis in front. */
export interface OnnxNetwork {
  readonly name: string;
  readonly about: string;
  readonly input: NetworkTensor;
  readonly output: NetworkTensor;
  readonly nodes: readonly NetworkNode[];
  readonly weights: readonly NetworkWeight[];
}

/** Whole numbers from `-most` to `most` that look random and are the same in every process. */
export function wholeNumbers(count: number, most: number, seed = 7): Float32Array {
  let state = seed;
  return Float32Array.from({ length: count }, () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return ((state >>> 16) % (2 * most + 1)) - most;
  });
}

export function quarters(count: number): Float32Array {
  return wholeNumbers(count, 8).map((value) => value / 4);
}

export function relu(values: Float32Array): Float32Array {
  return values.map((value) => Math.max(0, value));
}
