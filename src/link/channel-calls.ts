// Calls between models across a channel: the callable's side numbers them, the server's side makes them. All calls of one
// turn cross in one message, and so do their answers: most of the cost of a message is waking the other thread.

import { TritonError } from '../errors.js';
import type { InferTensor } from '../model/exchange.js';
import type { CallSink, ModelCaller } from '../model/model-calls.js';
import { packCalls, packTensors, type SentCall, unpackCalls, unpackTensors } from './call-frame.js';
import {
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
import { receiveError, sendError, type SentError } from './sent-error.js';

/** Collects the items of one turn of the event loop, to post them together. */
class Outbox<T> {
  readonly #post: (items: readonly T[]) => void;
  #items: T[] = [];

  constructor(post: (items: readonly T[]) => void) {
    this.#post = post;
  }

  add(item: T): void {
    // Flushes at the end of this turn, because promises that it settled may add more items.
    if (this.#items.push(item) === 1) queueMicrotask(() => process.nextTick(() => this.flush()));
  }

  flush(): void {
    if (this.#items.length === 0) return;
    const items = this.#items;
    this.#items = [];
    this.#post(items);
  }
}

/** The callable's side. */
export class ChannelCaller {
  readonly #channel: HostChannel;
  readonly #waiting = new Map<number, CallSink>();
  #nextId = 0;
  #failure: TritonError | undefined;
  readonly #outbox = new Outbox<SentCall>((calls) => this.#send(calls));

  constructor(channel: HostChannel) {
    this.#channel = channel;
  }

  readonly call: ModelCaller = (call, sink) => {
    const id = this.#nextId++;
    if (this.#failure !== undefined) sink.failed(this.#failure);
    else {
      this.#waiting.set(id, sink);
      this.#outbox.add({ id, call, streams: sink.onResponse !== undefined });
    }
    return () => {
      if (!this.#waiting.has(id)) return;
      // The call itself must go first.
      this.#outbox.flush();
      this.#channel.post([CANCEL_CALL, id]);
    };
  };

  #send(calls: readonly SentCall[]): void {
    try {
      this.#post(calls);
    } catch {
      // One call has parameters that cannot be sent; the other calls can.
      for (const call of calls) {
        try {
          this.#post([call]);
        } catch (error) {
          this.#take(call.id)?.failed(TritonError.from(error));
        }
      }
    }
  }

  #post(calls: readonly SentCall[]): void {
    const message = packCalls(calls);
    this.#channel.post(message, message[3][1]);
  }

  responded([, id, outputs]: CallResponseMessage): void {
    const taken = () => this.#channel.post([CALL_TAKEN, id]);
    const slow = this.#waiting.get(id)?.onResponse?.(unpackTensors(outputs)[0] ?? []);
    if (slow === undefined) taken();
    else void slow.then(taken);
  }

  answered([, ids, sent, errors]: CalledMessage): void {
    let failures = 0;
    unpackTensors(sent).forEach((outputs, index) => {
      const sink = this.#take(ids[index]!);
      if (outputs !== undefined) sink?.answered(outputs);
      else sink?.failed(receiveError(errors![failures++]!));
    });
  }

  /** The server is gone: all calls fail, the calls under way and later ones. */
  failAll(error: TritonError): void {
    this.#failure = error;
    for (const id of this.#waiting.keys()) this.#take(id)?.failed(error);
  }

  /** The sink of a call that ends. */
  #take(id: number): CallSink | undefined {
    const sink = this.#waiting.get(id);
    this.#waiting.delete(id);
    return sink;
  }
}

/** Responses that may be under way to the callable. Beyond them the called model waits. */
const WINDOW = 16;

/** A call under way, on the server's side. */
class RunningCall {
  cancel: () => void = () => undefined;
  #underWay = 0;
  #waiting: (() => void)[] = [];

  /** Counts a sent response. Returns a promise when the next response should wait for the callable. */
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

/** How a call ended. */
interface CallAnswer {
  readonly id: number;
  readonly outputs: readonly InferTensor[] | undefined;
  readonly error: SentError | undefined;
}

/** Outputs may share their memory with other answers, so the callable gets copies. */
const SHARED = { owned: false };

/** The server's side. */
export class ChannelCallee {
  readonly #channel: InstanceChannel;
  readonly #calls = new Map<number, RunningCall>();
  readonly #outbox = new Outbox<CallAnswer>((answers) => this.#send(answers));

  constructor(channel: InstanceChannel) {
    this.#channel = channel;
  }

  /** Makes calls with `caller` and posts their answers. */
  perform(message: CallMessage, caller: ModelCaller | undefined): void {
    for (const call of unpackCalls(message)) this.#perform(call, caller);
  }

  #perform({ id, call, streams }: SentCall, caller: ModelCaller | undefined): void {
    const running = new RunningCall();
    this.#calls.set(id, running);
    const onResponse = (outputs: readonly InferTensor[]) => {
      const packed = packTensors([outputs], SHARED);
      this.#channel.post([CALL_RESPONSE, id, packed], packed[1]);
      return running.sent();
    };
    const ended = (answer: CallAnswer) => {
      this.#calls.delete(id);
      running.release();
      this.#outbox.add(answer);
    };
    const sink: CallSink = {
      onResponse: streams ? onResponse : undefined,
      answered: (outputs) => ended({ id, outputs, error: undefined }),
      failed: (error) => ended({ id, outputs: undefined, error: sendError(error) }),
    };
    if (caller === undefined) sink.failed(new TritonError('UNAVAILABLE', 'models cannot be called yet'));
    else running.cancel = caller(call, sink);
  }

  #send(answers: readonly CallAnswer[]): void {
    const packed = packTensors(
      answers.map(({ outputs }) => outputs),
      SHARED,
    );
    const ids = answers.map(({ id }) => id);
    const errors = answers.flatMap(({ error }) => (error === undefined ? [] : [error]));
    this.#channel.post([CALLED, ids, packed, errors.length === 0 ? undefined : errors], packed[1]);
  }

  taken([, id]: CallTakenMessage): void {
    this.#calls.get(id)?.taken();
  }

  cancel([, id]: CancelCallMessage): void {
    this.#calls.get(id)?.cancel();
  }

  /** The callable is gone and waits for none of its calls: cancels them. */
  cancelAll(): void {
    for (const call of this.#calls.values()) call.cancel();
  }
}
