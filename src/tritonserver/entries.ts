// Collects answers into RESULTS and RESPONSES frames; frame.ts describes them.

import type { Writable } from 'node:stream';

import type { ExecutionResult, ResponseStream } from '../core/instance/model-instance.js';
import type { TritonError } from '../errors.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import type { InferTensor } from '../model/exchange.js';
import type { InferenceResponseOptions } from '../model/inference-response.js';
import type { Parameters } from '../model/parameters.js';
import { AGAIN, encodeFrame, ENDED, FAILED, FINAL, OUTPUTS, RESPONSES, RESULTS } from './frame.js';

/** Answers of streams that go into one frame at most. */
const MOST_ANSWERS = 64;
/** More bytes than this go at once. */
const MANY_BYTES = 256 * 1024;

/** Entries of one frame. */
export class Entries {
  readonly #config: CompleteModelConfig;
  readonly #head: number[] = [];
  readonly #tensors: Uint8Array[] = [];
  #errors: Record<number, readonly [code: string, message: string]> | undefined;
  #parameters: Record<number, object> | undefined;
  #count = 0;
  /** Bytes of the tensors. */
  byteLength = 0;

  constructor(config: CompleteModelConfig) {
    this.#config = config;
  }

  get count(): number {
    return this.#count;
  }

  /** Adds the words of an entry before its outputs. */
  begin(...words: readonly number[]): void {
    this.#head.push(...words);
    this.#count++;
  }

  /** Notes the error of the last entry. */
  failed({ code, message }: TritonError): void {
    (this.#errors ??= {})[this.#count - 1] = [code, message];
  }

  /** Adds the outputs of the last entry. */
  outputs(outputs: readonly InferTensor[], parameters: Parameters | undefined): void {
    const head = this.#head;
    head.push(outputs.length);
    for (let i = 0; i < outputs.length; i++) {
      const { name, shape, bytes } = outputs[i]!;
      head.push(this.#indexOf(name, i), shape.length + 1);
      for (let axis = 0; axis < shape.length; axis++) head.push(shape[axis]!);
      const { byteLength } = bytes;
      head.push(byteLength % 2 ** 32, Math.floor(byteLength / 2 ** 32));
      this.#tensors.push(bytes);
      this.byteLength += byteLength;
    }
    if (parameters !== undefined) (this.#parameters ??= {})[this.#count - 1] = sendable(parameters);
  }

  /** Index of a declared output, most likely at the same place. */
  #indexOf(name: string, place: number): number {
    const { outputs } = this.#config;
    return outputs[place]?.name === name ? place : outputs.findIndex((output) => output.name === name);
  }

  /** Writes the frame. Returns false when its reader is slow. */
  send(to: Writable, kind: number, id: number): boolean {
    const hasExtras = this.#errors !== undefined || this.#parameters !== undefined;
    const extras = hasExtras ? { errors: this.#errors, parameters: this.#parameters } : undefined;
    const pieces = encodeFrame({ kind, id, count: this.#count, head: this.#head, extras, tensors: this.#tensors });
    if (pieces.length === 1) return to.write(pieces[0]);
    to.cork();
    let takesMore = true;
    for (const piece of pieces) takesMore = to.write(piece);
    to.uncork();
    return takesMore;
  }
}

/** JSON has no integers beyond 2^53: they go as text. */
function sendable(parameters: Parameters): object {
  return Object.fromEntries(
    Object.entries(parameters).map(([name, value]) => [
      name,
      typeof value === 'bigint' ? { int: String(value) } : value,
    ]),
  );
}

/** Sends the results of a batch. */
export function sendResults(
  to: Writable,
  id: number,
  { results, config }: { readonly results: readonly ExecutionResult[]; readonly config: CompleteModelConfig },
): void {
  const entries = new Entries(config);
  for (let i = 0; i < results.length; i++) {
    const result = results[i]!;
    switch (result.kind) {
      case 'outputs':
        entries.begin(OUTPUTS);
        entries.outputs(result.outputs, result.parameters);
        break;
      case 'again':
        entries.begin(AGAIN);
        break;
      case 'error':
        entries.begin(FAILED);
        entries.failed(result.error);
    }
  }
  entries.send(to, RESULTS, id);
}

/** Sends the answers of a decoupled model's batch as they come, the answers of one turn together. */
export class EntryStream implements ResponseStream {
  readonly #to: Writable;
  readonly #id: number;
  readonly #config: CompleteModelConfig;
  #entries: Entries;
  #immediate: NodeJS.Immediate | undefined;
  #drained: Promise<void> | undefined;
  readonly #ended = new Set<number>();

  constructor(to: Writable, id: number, config: CompleteModelConfig) {
    this.#to = to;
    this.#id = id;
    this.#config = config;
    this.#entries = new Entries(config);
  }

  respond(
    index: number,
    outputs: readonly InferTensor[],
    more: InferenceResponseOptions | undefined,
  ): void | Promise<void> {
    const isFinal = more?.final === true;
    if (isFinal) this.#ended.add(index);
    this.#entries.begin(isFinal ? FINAL : OUTPUTS, index);
    this.#entries.outputs(outputs, more?.parameters);
    if (this.#entries.count < MOST_ANSWERS && this.#entries.byteLength < MANY_BYTES) return this.#flushSoon();
    return this.#flush();
  }

  end(index: number, error?: TritonError): void {
    if (this.#ended.has(index)) return;
    this.#ended.add(index);
    this.#entries.begin(error === undefined ? ENDED : FAILED, index);
    if (error !== undefined) this.#entries.failed(error);
    void this.#flushSoon();
  }

  recordMetrics(): void {}

  /** Ends the batch: fails the requests that have not ended. */
  done(results: readonly ExecutionResult[]): void {
    for (const [index, result] of results.entries()) {
      if (result.kind === 'error') this.end(index, result.error);
    }
    void this.#flush();
    const entries = new Entries(this.#config);
    for (const { kind } of results) entries.begin(kind === 'again' ? AGAIN : ENDED);
    entries.send(this.#to, RESULTS, this.#id);
  }

  #flushSoon(): Promise<void> | undefined {
    this.#immediate ??= setImmediate(() => void this.#flush());
    return this.#drained;
  }

  #flush(): Promise<void> | undefined {
    clearImmediate(this.#immediate);
    this.#immediate = undefined;
    const entries = this.#entries;
    if (entries.count === 0) return this.#drained;
    this.#entries = new Entries(this.#config);
    if (entries.send(this.#to, RESPONSES, this.#id)) return undefined;
    return (this.#drained ??= new Promise((resolve) => {
      const over = () => {
        this.#to.off('drain', over).off('close', over);
        this.#drained = undefined;
        resolve();
      };
      this.#to.on('drain', over).on('close', over);
    }));
  }
}
