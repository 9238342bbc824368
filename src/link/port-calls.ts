// Calls between models across a message port: the callable's side numbers them, the server's side makes them.

import type { MessagePort } from 'node:worker_threads';

import { TritonError } from '../errors.js';
import type { InferTensor } from '../model/exchange.js';
import type { ModelCaller } from '../model/model-calls.js';
import {
  CALL,
  CALLED,
  CANCEL_CALL,
  sendError,
  type CalledMessage,
  type CallMessage,
  type CancelCallMessage,
} from './messages.js';

interface WaitingCall {
  readonly resolve: (outputs: readonly InferTensor[]) => void;
  readonly reject: (error: TritonError) => void;
}

/** The callable's side. */
export class PortCaller {
  readonly #port: MessagePort;
  readonly #waiting = new Map<number, WaitingCall>();
  #nextId = 0;

  constructor(port: MessagePort) {
    this.#port = port;
  }

  readonly call: ModelCaller = async (call, signal) => {
    if (signal.aborted) throw new TritonError('CANCELLED', `the call of model '${call.modelName}' was cancelled`);
    const id = this.#nextId++;
    const cancel = () => this.#port.postMessage([CANCEL_CALL, id] satisfies CancelCallMessage);
    signal.addEventListener('abort', cancel);
    try {
      return await new Promise<readonly InferTensor[]>((resolve, reject) => {
        this.#waiting.set(id, { resolve, reject });
        this.#port.postMessage([CALL, id, call] satisfies CallMessage, buffersOf(call.inputs));
      });
    } finally {
      signal.removeEventListener('abort', cancel);
      this.#waiting.delete(id);
    }
  };

  answered([, id, outputs, error]: CalledMessage): void {
    const waiting = this.#waiting.get(id);
    if (error !== undefined) waiting?.reject(new TritonError(...error));
    else waiting?.resolve(outputs ?? []);
  }

  /** The server is gone. */
  failAll(error: TritonError): void {
    for (const { reject } of this.#waiting.values()) reject(error);
  }
}

/** The server's side. */
export class PortCallee {
  readonly #port: MessagePort;
  readonly #calls = new Map<number, AbortController>();

  constructor(port: MessagePort) {
    this.#port = port;
  }

  /** Makes a call with `caller` and posts what comes of it. */
  async perform([, id, call]: CallMessage, caller: ModelCaller | undefined): Promise<void> {
    const controller = new AbortController();
    this.#calls.set(id, controller);
    try {
      if (caller === undefined) throw new TritonError('UNAVAILABLE', 'models cannot be called yet');
      const outputs = await caller(call, controller.signal);
      // Answers may share memory with others, so what is handed over is a copy.
      const owned = outputs.map((tensor) => ({ ...tensor, bytes: new Uint8Array(tensor.bytes) }));
      this.#port.postMessage([CALLED, id, owned, undefined] satisfies CalledMessage, buffersOf(owned));
    } catch (error) {
      this.#port.postMessage([CALLED, id, undefined, sendError(TritonError.from(error))] satisfies CalledMessage);
    } finally {
      this.#calls.delete(id);
    }
  }

  cancel([, id]: CancelCallMessage): void {
    this.#calls.get(id)?.abort();
  }

  /** The callable is gone: nobody waits for its calls. */
  cancelAll(): void {
    for (const controller of this.#calls.values()) controller.abort();
  }
}

function buffersOf(tensors: readonly InferTensor[]): ArrayBuffer[] {
  return tensors.map(({ bytes }) => bytes.buffer as ArrayBuffer);
}
