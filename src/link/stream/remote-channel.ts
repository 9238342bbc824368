// The server's end of the channel of an instance in another process. It checks each message from there before the instance
// gets it. The clocks of the two processes differ, so times cross as durations: with its results a callable sends the age of
// its start. The way through the network, there and back, counts as the time before that start.

import { invalidArg } from '../../errors.js';
import type { CompleteModelConfig } from '../../model/complete-model-config.js';
import { requestCount } from '../batch-frame.js';
import {
  ACKNOWLEDGE,
  CALL,
  CALL_TAKEN,
  CALLED,
  CANCEL_CALL,
  EXECUTE,
  type InstanceChannel,
  RESPONSES,
  RESULTS,
  type SentResults,
  type ToHost,
  type ToInstance,
} from '../messages.js';
import { checkCalls } from './check-calls.js';
import { checkResponses, checkResultFrame } from './check-outputs.js';
import {
  checkErrors,
  checkMetrics,
  checkParametersOf,
  expectArray,
  expectNumber,
  expectWhole,
} from './check-values.js';

/** More answers than a callable may have under way to one reader. */
const MOST_UNTAKEN = 1024;
/** More calls than a callable of any use has under way. */
const MOST_CALLS = 10_000;

/** An execution that the other process works on. */
interface Running {
  /** Of each request, whether it may have more answers. */
  readonly isOpen: boolean[];
  /** Of each request, the answers that nobody has taken yet. */
  readonly untaken: number[];
}

export interface RemoteChannelOptions {
  readonly config: CompleteModelConfig;
  readonly send: (message: ToHost) => void;
  /** Called once, when this end closes the channel. */
  readonly onClosed: () => void;
}

export class RemoteChannel implements InstanceChannel {
  /** Whether the callable's end is closed. What it had sent before may still come. */
  isEnding = false;
  readonly #options: RemoteChannelOptions;
  readonly #running = new Map<number, Running>();
  readonly #calls = new Set<number>();
  #listener: ((message: ToInstance) => void) | undefined;
  #onClose: (() => void) | undefined;
  #isClosed = false;
  #whenIdle: (() => void) | undefined;

  constructor(options: RemoteChannelOptions) {
    this.#options = options;
  }

  post(message: ToHost): void {
    if (this.#isClosed) return;
    this.#options.send(message);
    if (message[0] === EXECUTE) {
      for (const [id, buffers] of message[1]) {
        const count = requestCount(buffers);
        this.#running.set(id, { isOpen: Array.from({ length: count }, () => true), untaken: new Array(count).fill(0) });
      }
    } else if (message[0] === ACKNOWLEDGE) {
      const untaken = this.#running.get(message[1])?.untaken;
      if (untaken !== undefined) untaken[message[2]]! -= message[3];
    } else if (message[0] === CALLED) {
      for (const id of message[1]) this.#calls.delete(id);
    }
  }

  onMessage(listener: (message: ToInstance) => void): void {
    this.#listener = listener;
  }

  onClose(listener: () => void): void {
    this.#onClose = listener;
  }

  close(): void {
    if (this.#isClosed) return;
    this.#options.onClosed();
    this.closed();
  }

  now(): number {
    return performance.now();
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Resolves when the other process works on nothing, or the channel is closed. */
  idle(): Promise<void> {
    if (this.#isClosed || this.#running.size === 0) return Promise.resolve();
    return new Promise((resolve) => (this.#whenIdle = resolve));
  }

  /** The other end has closed the channel, or is gone. */
  closed(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    // As other channels, not within the call that closes it.
    queueMicrotask(() => {
      this.#onClose?.();
      this.#whenIdle?.();
    });
  }

  /** Takes a message from the other process. Throws INVALID_ARG for what no instance sends. */
  receive(value: unknown): void {
    if (this.#isClosed) return;
    const message = this.#checked(expectArray(value, 'a message'));
    this.#listener?.(message);
    if (this.#running.size > 0) return;
    this.#whenIdle?.();
    this.#whenIdle = undefined;
  }

  #checked(message: readonly unknown[]): ToInstance {
    const [kind, first] = message;
    switch (kind) {
      case RESULTS: {
        const results = expectArray(first, 'results').map((result) => this.#results(result));
        checkMetrics(message[2]);
        return [RESULTS, results, message[2] as never];
      }
      case RESPONSES:
        return this.#responses(message);
      case CALL:
        return checkCalls(message, (id) => this.#took(id));
      case CALL_TAKEN:
      case CANCEL_CALL:
        return [kind, expectWhole(first, 'a call')];
      default:
        throw invalidArg(`a link's message is of kind ${String(kind)}`);
    }
  }

  #results(value: unknown): SentResults {
    const [id, frame, errors, age, inferMs, parameters, aloneMs] = expectArray(value, 'results');
    const running = this.#find(id);
    const count = running.isOpen.length;
    if (frame === undefined) checkErrors(errors, 1);
    else if (!(frame instanceof ArrayBuffer)) throw invalidArg('results have no frame');
    else checkErrors(errors, checkResultFrame(frame, count, this.#options.config));
    checkParametersOf(parameters, count);
    if (aloneMs !== undefined) {
      const all = expectArray(aloneMs, 'times');
      if (all.length !== count) throw invalidArg(`${all.length} times for ${count} requests`);
      for (const time of all) if (time !== undefined) expectNumber(time, 'times');
    }
    const startedAt = this.now() - expectNumber(age, 'a time');
    const infer = Math.min(expectNumber(inferMs, 'a time'), age as number);
    this.#running.delete(id as number);
    return [
      id as number,
      frame as ArrayBuffer,
      errors as never,
      startedAt,
      infer,
      parameters as never,
      aloneMs as never,
    ];
  }

  #responses(message: readonly unknown[]): ToInstance {
    const [, id, buffer, numbers, errors, parameters, metrics] = message;
    const { config } = this.#options;
    const { isOpen, untaken } = this.#find(id);
    if (!config.decoupled) throw invalidArg(`model '${config.name}' is not decoupled, and streams answers`);
    if (!(buffer instanceof ArrayBuffer)) throw invalidArg('answers have no buffer');
    const layout = { numbers: expectArray(numbers, 'a layout') as number[], buffer, start: 0, config };
    const { answers, failures } = checkResponses(layout, isOpen, (index) => {
      if (++untaken[index]! > MOST_UNTAKEN) throw invalidArg('a stream does not wait for its reader');
    });
    checkErrors(errors, failures);
    checkParametersOf(parameters, answers);
    checkMetrics(metrics);
    return message as unknown as ToInstance;
  }

  #took(id: number): void {
    if (this.#calls.has(id)) throw invalidArg(`call ${id} is under way already`);
    if (this.#calls.size >= MOST_CALLS) throw invalidArg(`more than ${MOST_CALLS} calls are under way`);
    this.#calls.add(id);
  }

  #find(id: unknown): Running {
    const running = this.#running.get(expectWhole(id, 'an execution'));
    if (running === undefined) throw invalidArg(`execution ${String(id)} does not run`);
    return running;
  }
}
