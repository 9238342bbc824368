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
import { loadSuperseded } from '../../lifecycle/interrupted-load.js';
import { receiveFailure, sendFailure } from '../../link/sent-error.js';
import type { CompleteModelConfig } from '../../model/complete-model-config.js';
import { ServedTimer } from '../../pacing/served-timer.js';
import { VERSION } from '../version.js';
import { answersBeforeMore, sendMessage } from './direct-stream.js';
import { DirectStreams } from './direct-streams.js';
import type { Binder, BinderLink } from './remote-model.js';

/** How long a process may take to say its versions. */
const HELLO_MILLISECONDS = 10_000;
/** Models of one process. */
const MOST_MODELS = 1000;
const MOST_CHANNELS = 10_000;

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

interface LinkBinder extends Binder {
  readonly ending: AbortController;
}

interface Opening {
  readonly binder: Binder;
  readonly resolve: (instances: readonly LinkedInstance[]) => void;
  readonly reject: (error: TritonError) => void;
}

export class RemoteLink implements BinderLink, StreamHandler {
  /** Names the link to the connections of its callables. */
  readonly key = randomBytes(16).toString('hex');
  readonly #stream: AnswerStream;
  readonly #models: LinkedModels;
  readonly #binders = new Map<number, LinkBinder>();
  readonly #channels = new Map<number, RemoteChannel>();
  readonly #directs: DirectStreams;
  /** By their numbers; without the functions once they are open. */
  readonly #openings = new Map<number, Opening>();
  #nextOpening = 1;
  #hello: ServedTimer | undefined;
  #isOver = false;

  constructor(stream: AnswerStream, models: LinkedModels) {
    this.#stream = stream;
    this.#models = models;
    this.#directs = new DirectStreams({
      isOpen: (channel) => channel === CONTROL_CHANNEL || this.#channels.has(channel),
      receive: (channel, value) => this.#channels.get(channel)?.receive(value),
      end: (error) => this.end(error),
    });
    const late = new TritonError('DEADLINE_EXCEEDED', `no hello came within ${HELLO_MILLISECONDS / 1000} s`);
    this.#hello = new ServedTimer(() => this.end(late), HELLO_MILLISECONDS);
  }

  /** Whether it has ended. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** The number of its connections: its own, and one of each callable that has one. */
  get connections(): number {
    return 1 + this.#directs.living;
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
  direct(channel: number, stream: AnswerStream): StreamHandler | undefined {
    return this.#isOver ? undefined : this.#directs.take(channel, stream);
  }

  /** Forgets a channel that one of its ends has closed. */
  #forget(number: number): void {
    this.#channels.delete(number);
    this.#directs.close(number);
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
    const asked = this.#openings.get(opening);
    this.#openings.delete(opening);
    asked?.reject(new TritonError('UNAVAILABLE', 'the model was unloaded while it was opened'));
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
    const direct = this.#directs.of(channel);
    if (direct === undefined) sendMessage(this.#stream, channel, value);
    else direct.send(value);
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
        // The message before may open the channel, which then is there only after all that came with it was read.
        if (!this.#channels.has(number)) setImmediate(() => this.#ended(number));
        return this.#ended(number);
      }
      default:
        throw invalidArg(`a link's message is of kind ${String(message.kind)}`);
    }
  }

  #ended(number: number): void {
    const channel = this.#channels.get(number);
    if (channel === undefined) return this.#forget(number);
    channel.isEnding = true;
    // The two connections may bring this and the callable's last messages in any order.
    this.#directs.afterLast(number, () => {
      this.#forget(number);
      channel.closed();
    });
  }

  async #bind({ model, declared, instances }: BinderMessage & { kind: 'bind' }): Promise<void> {
    const ending = new AbortController();
    const binder: LinkBinder = { link: this, model, instances, ending, unbound: ending.signal };
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
    // Its load may still be under way, and never come to an end.
    binder?.ending.abort(loadSuperseded());
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
    const openings = [...this.#openings.values()];
    this.#openings.clear();
    const channels = [...this.#channels.values()];
    this.#channels.clear();
    this.#directs.closeAll();
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

/** The error for what is asked of a link that has ended. */
export function gone(): TritonError {
  return new TritonError('UNAVAILABLE', 'the process that had bound the model is gone');
}
