// Reads the requests of a BATCH frame; frame.ts describes it. Whatever does not fit the model is refused, and nothing is
// read beyond the frame.

import type { ExecutionRequest } from '../core/instance/model-instance.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import type { InferTensor } from '../model/exchange.js';
import type { Parameters } from '../model/parameters.js';
import type { RequestSequence } from '../model/request-sequence.js';
import { alignTo8, type Frame, HeadReader, malformed } from './frame.js';

const SEQUENCE_START = 1;
const SEQUENCE_END = 2;

/** Lists with a place for each request; a list is absent where no request of the batch has such a member. */
interface BatchExtras {
  readonly ids?: unknown;
  readonly parameters?: unknown;
  readonly outputs?: unknown;
  readonly sequences?: unknown;
  readonly timeouts?: unknown;
}

/** Throws INVALID_ARG for a frame that is malformed. */
export function decodeBatchFrame(frame: Frame, config: CompleteModelConfig): ExecutionRequest[] {
  const reader = new HeadReader(frame.head);
  const requests: ExecutionRequest[] = [];
  const memory = frame.memory === undefined ? undefined : [frame.memory];
  const extras = frame.extras === undefined ? undefined : new ExtrasReader(frame.extras, frame.count);
  let at = 0;
  for (let index = 0; index < frame.count; index++) {
    const inputs: (InferTensor | undefined)[] = [];
    let rows: number | undefined;
    for (let input = 0; input < config.inputs.length; input++) {
      const { name, datatype } = config.inputs[input]!;
      const rank = reader.next() - 1;
      if (rank < 0) {
        inputs.push(undefined);
        continue;
      }
      const shape = reader.dimensions(rank);
      const length = reader.length();
      if (at + length > frame.tensors.byteLength) throw malformed(`input '${name}' is longer than the frame`);
      inputs.push({ name, datatype, shape, bytes: frame.tensors.subarray(at, at + length) });
      at += alignTo8(length);
      rows ??= shape[0];
    }
    requests.push({
      id: extras?.id(index) ?? '',
      parameters: extras?.parameters(index),
      inputs,
      rows: config.maxBatchSize > 0 ? (rows ?? 1) : 1,
      memory,
      timeoutMicroseconds: extras?.timeout(index) ?? 0,
      requestedOutputs: extras?.outputs(index, config) ?? ALL,
      sequence: extras?.sequence(index),
    });
  }
  return requests;
}

const ALL: readonly string[] = [];

class ExtrasReader {
  readonly #extras: BatchExtras;
  readonly #count: number;

  constructor(extras: unknown, count: number) {
    if (typeof extras !== 'object' || extras === null) throw malformed('its extras are not an object');
    this.#extras = extras;
    this.#count = count;
  }

  id(index: number): string | undefined {
    const id = this.#of('ids', index);
    return id === undefined ? undefined : expectText(id, 'an id');
  }

  timeout(index: number): number | undefined {
    const timeout = this.#of('timeouts', index);
    if (timeout === undefined || typeof timeout === 'number') return timeout;
    throw malformed('a timeout is not a number');
  }

  /** In the order of the declaration: model.py has them as a set. */
  outputs(index: number, { outputs }: CompleteModelConfig): readonly string[] | undefined {
    const names = this.#of('outputs', index);
    if (names === undefined) return undefined;
    if (!Array.isArray(names)) throw malformed('requested outputs are not a list');
    return outputs.map(({ name }) => name).filter((name) => names.includes(name));
  }

  sequence(index: number): RequestSequence | undefined {
    const sequence = this.#of('sequences', index);
    if (sequence === undefined) return undefined;
    if (!Array.isArray(sequence) || sequence.length !== 3) throw malformed('a sequence is not a list of three');
    const [isText, text, flags] = sequence as readonly unknown[];
    const id = expectText(text, 'the id of a sequence');
    if (typeof flags !== 'number') throw malformed('the flags of a sequence are not a number');
    return {
      id: isText === true ? id : integerOf(id),
      start: (flags & SEQUENCE_START) !== 0,
      end: (flags & SEQUENCE_END) !== 0,
    };
  }

  parameters(index: number): Parameters | undefined {
    const given = this.#of('parameters', index);
    if (given === undefined) return undefined;
    if (typeof given !== 'object' || given === null) throw malformed('parameters are not an object');
    return Object.fromEntries(Object.entries(given).map(([name, value]) => [name, parameterOf(value)]));
  }

  #of(member: keyof BatchExtras, index: number): unknown {
    const list = this.#extras[member];
    if (list === undefined) return undefined;
    if (!Array.isArray(list) || list.length !== this.#count) throw malformed(`${member} has no place for each request`);
    return (list[index] as unknown) ?? undefined;
  }
}

function expectText(value: unknown, what: string): string {
  if (typeof value === 'string') return value;
  throw malformed(`${what} is not a text`);
}

function parameterOf(value: unknown): Parameters[string] {
  if (typeof value === 'string' || typeof value === 'boolean' || typeof value === 'number') return value;
  const { int } = (value ?? {}) as { readonly int?: unknown };
  return integerOf(expectText(int, 'an integer of 64 bits'));
}

/** A number where that is exact. */
function integerOf(text: string): number | bigint {
  if (!/^-?[0-9]{1,20}$/.test(text)) throw malformed(`'${text}' is not an integer`);
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : BigInt(text);
}
