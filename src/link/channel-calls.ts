// Calls between models across a channel: the callable's side numbers them, the server's side makes them.

import { TritonError } from '../errors.js';
import type { InferTensor } from '../model/exchange.js';
import type { CallReceiver, ModelCaller } from '../model/model-calls.js';
import {
  CALL,
  CALL_RESPONSE,
  CALL_TAKEN,
  CALLED,
  CANCEL_CALL,
  type CalledMessage,
  type CallMessage,
  type CallResponseMessage,
  type CallTakenMessage,
  type CancelCallMessage,
  type HostChannel,
  type InstanceChannel,
} from './messages.js';
import { receiveError, sendError } from './sent-error.js';

interface WaitingCall {
  readonly onResponse: CallReceiver['onResponse'];
  readonly resolve: (outputs: readonly InferTensor[]) => void;
  readonly reject: (error: TritonError) => void;
}

/** The callable's side. */
export class ChannelCaller {
  readonly #channel: HostChannel;
  readonly #waiting = new Map<number, WaitingCall>();
  #nextId = 0;
  #failure: TritonError | undefined;

  constructor(channel: HostChannel) {
    this.#channel = channel;
  }

  readonly call: ModelCaller = async (call, { signal, onResponse }) => {
    if (this.#failure !== undefined) throw this.#failure;
    if (signal.aborted) throw new TritonError('CANCELLED', `the call of model '${call.modelName}' was cancelled`);
    const id = this.#nextId++;
    const cancel = () => this.#channel.post([CANCEL_CALL, id]);
    signal.addEventListener('abort', cancel);
    try {
      return await new Promise<readonly InferTensor[]>((resolve, reject) => {
        this.#waiting.set(id, { resolve, reject, onResponse });
        this.#channel.post([CALL, id, call, onResponse !== undefined], buffersOf(call.inputs));
      });
    } finally {
      signal.removeEventListener('abort', cancel);
      this.#waiting.delete(id);
    }
  };

  responded([, id, outputs]: CallResponseMessage): void {
    const taken = () => this.#channel.post([CALL_TAKEN, id]);
    const slow = this.#waiting.get(id)?.onResponse?.(outputs);
    if (slow === undefined) taken();
    else void slow.then(taken);
  }

  answered([, id, outputs, error]: CalledMessage): void {
    const waiting = this.#waiting.get(id);
    if (error !== undefined) waiting?.reject(receiveError(error));
    else waiting?.resolve(outputs ?? []);
  }

  /** The server is gone: calls under way fail, and all that are made from now on. */
  failAll(error: TritonError): void {
    this.#failure = error;
    for (const { reject } of this.#waiting.values()) reject(error);
  }
}

/** How many responses may be under way to the callable before the model that gives them is to wait. */
const WINDOW = 16;

/** A call under way, on the server's side. */
class RunningCall {
  readonly controller = new AbortController();
  #underWay = 0;
  #waiting: (() => void)[] = [];

  /** A response is sent. A promise: so many have not been taken that the next should wait. */
  sent(): void | Promise<void> {
    if (++this.#underWay < WINDOW) return;
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  taken(): void {
    this.#underWay--;
    this.release();
  }

  release(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

/** The server's side. */
export class ChannelCallee {
  readonly #channel: InstanceChannel;
  readonly #calls = new Map<number, RunningCall>();

  constructor(channel: InstanceChannel) {
    this.#channel = channel;
  }

  /** Makes a call with `caller` and posts what comes of it. */
  async perform([, id, call, streams]: CallMessage, caller: ModelCaller | undefined): Promise<void> {
    const running = new RunningCall();
    this.#calls.set(id, running);
    const onResponse = (outputs: readonly InferTensor[]) => {
      const owned = copiesOf(outputs);
      this.#channel.post([CALL_RESPONSE, id, owned], buffersOf(owned));
      return running.sent();
    };
    try {
      if (caller === undefined) throw new TritonError('UNAVAILABLE', 'models cannot be called yet');
      const { signal } = running.controller;
      const owned = copiesOf(await caller(call, { signal, onResponse: streams ? onResponse : undefined }));
      this.#channel.post([CALLED, id, owned, undefined], buffersOf(owned));
    } catch (error) {
      this.#channel.post([CALLED, id, undefined, sendError(TritonError.from(error))]);
    } finally {
      this.#calls.delete(id);
      running.release();
    }
  }

  taken([, id]: CallTakenMessage): void {
    this.#calls.get(id)?.taken();
  }

  cancel([, id]: CancelCallMessage): void {
    this.#calls.get(id)?.controller.abort();
  }

  /** The callable is gone: nobody waits for its calls. */
  cancelAll(): void {
    for (const { controller } of this.#calls.values()) controller.abort();
  }
}

/** Answers may share memory with others, so what is handed over is a copy. */
function copiesOf(outputs: readonly InferTensor[]): InferTensor[] {
  return outputs.map((tensor) => ({ ...tensor, bytes: new Uint8Array(tensor.bytes) }));
}

function buffersOf(tensors: readonly InferTensor[]): ArrayBuffer[] {
  return tensors.map(({ bytes }) => bytes.buffer as ArrayBuffer);
}
