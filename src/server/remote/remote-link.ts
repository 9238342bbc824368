// The server's end of a link: the stream of one process that has bound models. It gives the messages of instances to their
// channels, and all else to the bound models. A message that no binder sends ends the link, and nothing else.

import { randomBytes } from 'node:crypto';

import { invalidArg, TritonError } from '../../errors.js';
import type { AnswerStream, StreamHandler } from '../../frontend/grpc/stream-call.js';
import {
  type BinderMessage,
  CONTROL_CHANNEL,
  LINK_PROTOCOL,
  type LinkedInstance,
  type ServerMessage,
} from '../../link/stream/link-messages.js';
import { checkError, expectArray, expectRecord, expectWhole } from '../../link/stream/check-values.js';
import { RemoteChannel } from '../../link/stream/remote-channel.js';
import { decodeMessage, SERVER_LIMITS, type StreamMessage } from '../../link/stream/stream-message.js';
import { receiveFailure, sendFailure } from '../../link/sent-error.js';
import type { CompleteModelConfig } from '../../model/complete-model-config.js';
import { ServedTimer } from '../../pacing/served-timer.js';
import { VERSION } from '../version.js';
import { answersBeforeMore, DirectStream, sendMessage } from './direct-stream.js';
import type { Binder, BinderLink } from './remote-model.js';

/** How long a process may take to say its versions. */
const HELLO_MILLISECONDS = 10_000;
/** Models of one process. */
const MOST_MODELS = 1000;
const MOST_CHANNELS = 10_000;
/** The end of a channel must follow the end of its callable's own connection this soon. Otherwise that connection is lost. */
const ENDED_MILLISECONDS = 5000;

/**
 * Between two empty messages to a callable that has a connection of its own: proxies end what is idle, and a callable that blocks its
 * thread cannot ping.
 */
const BEAT_MILLISECONDS = 1000;

/** What a link needs of the bound models. */
export interface LinkedModels {
  /** The largest message that a process may send, in bytes. */
  readonly maxMessageSize: number;
  /** Resolves when the model is served. Rejects with the reason of a refusal. */
  bind(binder: Binder, declared: unknown): Promise<void>;
  /** Resolves when the last request has ended. */
  unbind(binder: Binder): Promise<void>;
  /** A thread was started again. */
  attached(binder: Binder, opening: number, instance: LinkedInstance): void;
  /** The link has ended. */
  lost(link: RemoteLink, binders: readonly Binder[]): void;
}

interface Opening {
  readonly binder: Binder;
  readonly resolve: (instances: readonly LinkedInstance[]) => void;
  readonly reject: (error: TritonError) => void;
}

/** A channel's own connection. */
interface Direct {
  readonly stream: DirectStream;
  /** Runs from its end to the end of the channel. */
  ended: ServedTimer | undefined;
}

export class RemoteLink implements BinderLink, StreamHandler {
  /** Names the link to the connections of its callables. */
  readonly key = randomBytes(16).toString('hex');
  readonly #stream: AnswerStream;
  readonly #models: LinkedModels;
  readonly #binders = new Map<number, Binder>();
  readonly #channels = new Map<number, RemoteChannel>();
  /** By channel. */
  readonly #directs = new Map<number, Direct>();
  /** By their numbers; without the functions once they are open. */
  readonly #openings = new Map<number, Opening>();
  #nextOpening = 1;
  /** Runs once a callable has a connection of its own. */
  #beats: NodeJS.Timeout | undefined;
  #hello: ServedTimer | undefined;
  #isOver = false;

  constructor(stream: AnswerStream, models: LinkedModels) {
    this.#stream = stream;
    this.#models = models;
    const late = new TritonError('DEADLINE_EXCEEDED', `no hello came within ${HELLO_MILLISECONDS / 1000} s`);
    this.#hello = new ServedTimer(() => this.end(late), HELLO_MILLISECONDS);
  }

  /** The number of its connections: its own, and one of each callable that has one. */
  get connections(): number {
    let count = 1;
    for (const { ended } of this.#directs.values()) if (ended === undefined) count++;
    return count;
  }

  message(bytes: Buffer): void {
    const isFirst = this.#hello !== undefined;
    const { channel, value } = isFirst ? firstMessage(bytes) : decodeMessage(bytes, SERVER_LIMITS);
    if (isFirst) this.#greet(channel, value);
    else if (channel === CONTROL_CHANNEL) this.#control(value);
    // A message may cross the end of its channel.
    else this.#channels.get(channel)?.receive(value);
    if (!this.#isOver) answersBeforeMore(this.#stream);
  }

  /** Takes the connection of the callable behind a channel that is not open yet. Returns undefined for any other channel. */
  direct(number: number, stream: AnswerStream): StreamHandler | undefined {
    const isOpen = this.#channels.has(number) || this.#directs.has(number);
    if (this.#isOver || isOpen || number === CONTROL_CHANNEL || this.#directs.size >= MOST_CHANNELS) return undefined;
    const direct: Direct = {
      stream: new DirectStream(stream, {
        onMessage: (bytes) => this.#fromCallable(number, bytes),
        onEnded: () => this.#callableEnded(number, direct),
      }),
      ended: undefined,
    };
    this.#directs.set(number, direct);
    // Says that it is taken.
    direct.stream.send(number, []);
    this.#beats ??= setInterval(() => this.#beat(), BEAT_MILLISECONDS).unref();
    return direct.stream;
  }

  #beat(): void {
    for (const [number, { stream }] of this.#directs) stream.beat(number);
  }

  #fromCallable(number: number, bytes: Buffer): void {
    try {
      const { channel, value } = decodeMessage(bytes, SERVER_LIMITS);
      if (channel !== number) throw invalidArg(`a message for channel ${channel} came by the connection of ${number}`);
      // A ping.
      if (expectArray(value, 'a message').length === 0) return this.#directs.get(number)?.stream.send(number, []);
      this.#channels.get(number)?.receive(value);
    } catch (thrown) {
      const error = TritonError.from(thrown);
      this.end(error);
      throw error;
    }
  }

  #callableEnded(number: number, direct: Direct): void {
    if (!this.#channels.has(number)) return void this.#directs.delete(number);
    const lost = new TritonError('UNAVAILABLE', 'the connection of a callable is lost');
    direct.ended = new ServedTimer(() => this.end(lost), ENDED_MILLISECONDS);
  }

  /** Forgets a channel that one of its ends has closed. */
  #forget(number: number): void {
    this.#channels.delete(number);
    const direct = this.#directs.get(number);
    this.#directs.delete(number);
    direct?.ended?.clear();
    direct?.stream.close();
  }

  halfClosed(): void {
    this.end();
  }

  /** The server stops: the link goes on until the last requests have ended, see `RemoteModels`. */
  drain(): void {}

  cancel(): void {
    this.#over();
  }

  /** Ends the stream, with this error or in order. */
  end(error?: TritonError): void {
    if (this.#isOver) return;
    this.#over();
    if (error === undefined) this.#stream.finish();
    else this.#stream.fail(error);
  }

  send(message: ServerMessage): void {
    this.#send(CONTROL_CHANNEL, message);
  }

  open(binder: Binder): { readonly number: number; readonly instances: Promise<readonly LinkedInstance[]> } {
    const number = this.#nextOpening++;
    const instances = new Promise<readonly LinkedInstance[]>((resolve, reject) => {
      if (this.#isOver) return reject(gone());
      this.#openings.set(number, { binder, resolve, reject });
      this.send({ kind: 'open', model: binder.model, opening: number });
    });
    return { number, instances };
  }

  close(opening: number): void {
    this.#openings.delete(opening);
    this.send({ kind: 'close', opening });
  }

  channel(number: number, config: CompleteModelConfig): RemoteChannel {
    if (this.#channels.has(number) || number === CONTROL_CHANNEL) throw invalidArg(`channel ${number} is taken`);
    if (this.#channels.size >= MOST_CHANNELS) throw invalidArg(`more than ${MOST_CHANNELS} channels`);
    const channel = new RemoteChannel({
      config,
      send: (message) => this.#send(number, message),
      onClosed: () => this.#forget(number),
    });
    if (this.#isOver) channel.closed();
    else this.#channels.set(number, channel);
    return channel;
  }

  #send(channel: number, value: unknown): void {
    if (this.#isOver) return;
    const direct = this.#directs.get(channel);
    if (direct === undefined) sendMessage(this.#stream, channel, value);
    else direct.stream.send(channel, value);
  }

  #greet(channel: number, value: unknown): void {
    const hello = expectRecord(value, 'the first message') as Partial<BinderMessage & { kind: 'hello' }>;
    if (channel !== CONTROL_CHANNEL || hello.kind !== 'hello') throw invalidArg('a link begins with hello');
    if (hello.protocol !== LINK_PROTOCOL) {
      throw otherVersion(`${String(hello.version)} with version ${String(hello.protocol)}`);
    }
    this.#hello?.clear();
    this.#hello = undefined;
    const { maxMessageSize: maxMessageBytes } = this.#models;
    this.send({ kind: 'welcome', protocol: LINK_PROTOCOL, version: VERSION, maxMessageBytes, key: this.key });
  }

  #control(value: unknown): void {
    const message = expectRecord(value, 'a message') as unknown as BinderMessage;
    switch (message.kind) {
      case 'ping':
        return this.send({ kind: 'pong' });
      case 'bind':
        return void this.#bind(message);
      case 'unbind':
        return void this.#unbind(expectWhole(message.model, 'a model'));
      case 'opened':
        return this.#opened(message);
      case 'attached': {
        const opening = this.#openings.get(expectWhole(message.opening, 'an opening'));
        const instance = checkedInstance(message.instance);
        // It may cross the end of its opening.
        if (opening !== undefined) this.#models.attached(opening.binder, message.opening, instance);
        return;
      }
      case 'ended': {
        const number = expectWhole(message.channel, 'a channel');
        const channel = this.#channels.get(number);
        this.#forget(number);
        return channel?.closed();
      }
      default:
        throw invalidArg(`a link's message is of kind ${String(message.kind)}`);
    }
  }

  async #bind({ model, declared, instances }: BinderMessage & { kind: 'bind' }): Promise<void> {
    const binder: Binder = { link: this, model, instances };
    try {
      expectWhole(model, 'a model');
      if (this.#binders.has(model)) throw invalidArg(`model ${model} is bound already`);
      if (this.#binders.size >= MOST_MODELS) throw invalidArg(`a process has more than ${MOST_MODELS} models`);
      this.#binders.set(model, binder);
      await this.#models.bind(binder, declared);
      this.send({ kind: 'bound', model });
    } catch (thrown) {
      if (this.#binders.get(model) === binder) this.#binders.delete(model);
      this.send({ kind: 'bound', model, error: sendFailure(TritonError.from(thrown)) });
    }
  }

  async #unbind(model: number): Promise<void> {
    const binder = this.#binders.get(model);
    if (binder !== undefined) await this.#models.unbind(binder).catch(() => undefined);
    this.#binders.delete(model);
    this.send({ kind: 'unbound', model });
  }

  #opened({ opening, instances, error }: BinderMessage & { kind: 'opened' }): void {
    const asked = this.#openings.get(expectWhole(opening, 'an opening'));
    if (asked === undefined) return;
    if (error !== undefined) {
      this.#openings.delete(opening);
      checkError(expectRecord(error, 'an error')['error']);
      return asked.reject(receiveFailure(error));
    }
    asked.resolve(expectArray(instances, 'instances').map(checkedInstance));
  }

  #over(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#hello?.clear();
    clearInterval(this.#beats);
    const openings = [...this.#openings.values()];
    this.#openings.clear();
    const channels = [...this.#channels.values()];
    for (const number of [...this.#channels.keys(), ...this.#directs.keys()]) this.#forget(number);
    for (const channel of channels) channel.closed();
    for (const { reject } of openings) reject(gone());
    this.#models.lost(this, [...this.#binders.values()]);
  }
}

/** Versions may differ in the form of their messages too. */
function firstMessage(bytes: Buffer): StreamMessage {
  try {
    return decodeMessage(bytes, SERVER_LIMITS);
  } catch (error) {
    throw otherVersion('a message of another form', error);
  }
}

function otherVersion(got: string, cause?: unknown): TritonError {
  const expected = `the server is TSTriton ${VERSION} with version ${LINK_PROTOCOL} of the link's protocol`;
  return new TritonError('UNSUPPORTED', `${expected}, got ${got}`, { cause });
}

function checkedInstance(value: unknown): LinkedInstance {
  const { channel, hasThread } = expectRecord(value, 'an instance');
  return { channel: expectWhole(channel, 'a channel'), hasThread: hasThread === true };
}

function gone(): TritonError {
  return new TritonError('UNAVAILABLE', 'the process that had bound the model is gone');
}
