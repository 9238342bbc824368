// The callable's side of a decoupled execution across a channel. It copies answers into a buffer as they come, and posts
// them many at a time. The callable waits when a reader does not keep up, and while an answer with very many elements is
// written.

import type { TritonError } from '../errors.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import type { PacedWork } from '../pacing/paced-work.js';
import { pacedPromise } from '../pacing/paced-workers.js';
import type { InferenceResponseOptions } from '../model/inference-response.js';
import type { Parameters } from '../model/parameters.js';
import type { ResolvedOutputs } from '../model/resolve-outputs.js';
import type { HostStream } from '../host/host-results.js';
import { RESPONSES, RESPONSES_ENDED, RESPONSES_FAILED, type HostChannel, type RequestExtras } from './messages.js';
import { encodeOutputs } from './result-codec.js';
import type { MetricsRecorder } from '../host/metrics-recorder.js';
import {
  addResponse,
  type FramedResponse,
  type FramedTensor,
  frameResponsePaced,
  hasManyElements,
  ResultFrame,
} from './result-frame.js';
import { sendError, type SentError } from './sent-error.js';

/** Limits of the answers on their way to one reader. Beyond either limit the callable waits. */
const WINDOW_ANSWERS = 256;
const WINDOW_BYTES = 4 * 1024 * 1024;
/** The most answers of one event-loop turn that go into one message. */
const MESSAGE_ANSWERS = 64;
const CHUNK_BYTES = 16 * 1024;

/** What one reader has not acknowledged yet. */
interface Window {
  answers: number;
  bytes: number;
  wake: (() => void) | undefined;
}

/** An answer in the buffer. */
interface WrittenAnswer {
  readonly places: readonly FramedTensor[];
  /** Where its tensors begin. */
  readonly start: number;
  readonly more: InferenceResponseOptions | undefined;
}

export interface ChannelStreamOptions {
  readonly channel: HostChannel;
  /** The execution's id. */
  readonly id: number;
  readonly count: number;
  readonly config: CompleteModelConfig;
  readonly requestedOutputs: RequestExtras['requestedOutputs'];
  /** Records the callable's own metrics. */
  readonly metrics: MetricsRecorder;
}

export class ChannelResponseStream implements HostStream {
  readonly #options: ChannelStreamOptions;
  readonly #windows: Window[];
  #buffer = Buffer.alloc(0);
  #used = 0;
  #layout: number[] = [];
  #answers = 0;
  #errors: SentError[] | undefined;
  #parameters: (Parameters | undefined)[] | undefined;
  #immediate: NodeJS.Immediate | undefined;

  constructor(options: ChannelStreamOptions) {
    this.#options = options;
    this.#windows = Array.from({ length: options.count }, () => ({ answers: 0, bytes: 0, wake: undefined }));
  }

  respond(index: number, outputs: ResolvedOutputs, more: InferenceResponseOptions | undefined): void | Promise<void> {
    const { config, requestedOutputs } = this.#options;
    const requested = requestedOutputs?.[index];
    // Not as soon as there are so many: what follows may be the end, which goes with the answer before it.
    if (this.#answers >= MESSAGE_ANSWERS) this.flush();
    if (hasManyElements(outputs))
      return this.#respondPaced(index, frameResponsePaced(outputs, requested, config), more);
    const frame = new ResultFrame(config);
    const places = addResponse(frame, outputs, requested);
    const start = this.#room(frame.byteLength);
    frame.writeTo(this.#buffer, start);
    this.#add(index, { places, start, more });
    this.#flushSoon();
    return this.#count(index, frame.byteLength);
  }

  /** Writes an answer with pauses, in a message of its own. Other requests may have answers meanwhile. */
  async #respondPaced(
    index: number,
    framing: PacedWork<FramedResponse>,
    more: InferenceResponseOptions | undefined,
  ): Promise<void> {
    const { places, buffer, byteLength } = await pacedPromise(framing);
    this.flush();
    this.#buffer = Buffer.from(buffer);
    this.#used = byteLength;
    this.#add(index, { places, start: 0, more });
    this.flush();
    await this.#count(index, byteLength);
  }

  #add(index: number, { places, start, more }: WrittenAnswer): void {
    const parameters = more?.parameters;
    this.#layout.push(more?.final === true ? ~index : index);
    encodeOutputs(places, start, this.#layout);
    if (parameters !== undefined) this.#parameters ??= new Array<Parameters | undefined>(this.#answers).fill(undefined);
    this.#parameters?.push(parameters);
    this.#answers++;
  }

  end(index: number, error?: TritonError): void {
    this.#layout.push(index, error === undefined ? RESPONSES_ENDED : RESPONSES_FAILED);
    if (error !== undefined) (this.#errors ??= []).push(sendError(error));
    this.#flushSoon();
  }

  /** The reader of request `index` has taken `answers` answers with `bytes` bytes, or is gone. */
  acknowledge(index: number, answers: number, bytes: number): void {
    const window = this.#windows[index];
    if (window === undefined) return;
    window.answers -= answers;
    window.bytes -= bytes;
    if (window.answers < WINDOW_ANSWERS && window.bytes < WINDOW_BYTES) {
      window.wake?.();
      window.wake = undefined;
    }
  }

  /** Nobody reads request `index` any more: its callable must not wait. */
  cancel(index: number): void {
    this.acknowledge(index, Infinity, Infinity);
  }

  cancelAll(): void {
    for (const index of this.#windows.keys()) this.cancel(index);
  }

  /** Posts the answers and ends so far. */
  flush(): void {
    clearImmediate(this.#immediate);
    this.#immediate = undefined;
    if (this.#layout.length === 0) return;
    const buffer = this.#buffer.buffer as ArrayBuffer;
    const { channel, id, metrics } = this.#options;
    channel.post([RESPONSES, id, buffer, this.#layout, this.#errors, this.#parameters, metrics.take()], [buffer]);
    this.#buffer = Buffer.alloc(0);
    this.#used = 0;
    this.#layout = [];
    this.#answers = 0;
    this.#errors = undefined;
    this.#parameters = undefined;
  }

  /** Returns the offset in the buffer where `bytes` more bytes fit. */
  #room(bytes: number): number {
    if (this.#used + bytes > this.#buffer.byteLength) {
      if (this.#used > 0) this.flush();
      // An empty flush keeps ends that came before; their message needs no data.
      this.#buffer = Buffer.allocUnsafeSlow(Math.max(CHUNK_BYTES, bytes));
      this.#used = 0;
    }
    const start = this.#used;
    this.#used += bytes;
    return start;
  }

  #flushSoon(): void {
    this.#immediate ??= setImmediate(() => this.flush());
  }

  #count(index: number, bytes: number): void | Promise<void> {
    const window = this.#windows[index]!;
    window.answers++;
    window.bytes += bytes;
    if (window.answers < WINDOW_ANSWERS && window.bytes < WINDOW_BYTES) return;
    this.flush();
    return new Promise((resolve) => (window.wake = resolve));
  }
}
