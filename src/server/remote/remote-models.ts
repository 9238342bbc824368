// The models that other processes have bound through links, by name and version, and which process may bind which name.

import { timingSafeEqual, createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';

import { warmUp } from '../../core/warm-up.js';
import { TritonError } from '../../errors.js';
import type { AnswerStream, StreamHandler, StreamMethod } from '../../frontend/grpc/stream-call.js';
import { Turns } from '../../lifecycle/turns.js';
import { completeDeclared } from '../../link/stream/declared-model.js';
import {
  DIRECT_METHOD,
  LINK_CHANNEL_HEADER,
  LINK_METHOD,
  LINK_TOKEN_HEADER,
  type LinkedInstance,
} from '../../link/stream/link-messages.js';
import { type CompleteModelConfig, modelKey } from '../../model/complete-model-config.js';
import type { Logger } from '../../observability/logger.js';
import type { InstanceSource } from '../served-model.js';
import { gone, type LinkedModels, RemoteLink } from './remote-link.js';
import { type Binder, RemoteModel } from './remote-model.js';

/** How long a process may be silent before it is pinged, and then until it answers, in milliseconds. */
const KEEPALIVE = { keepaliveTime: 5000, keepaliveTimeout: 10_000, maxPingsWithoutData: 0 } as const;
/** A callable may compute for long and answer no ping. Its process's link shows whether it is still there. */
const DIRECT_KEEPALIVE = { keepaliveTime: 7_200_000 } as const;
const LOOK_MILLISECONDS = 10;
/** The value of {@link LINK_CHANNEL_HEADER}. */
const CHANNEL_OF_LINK = /^([0-9a-f]{32})\/([1-9][0-9]{0,9})$/;

/** The server that serves them. */
export interface ServingServer {
  readonly logger: Logger;
  /** The largest message that a process may send. */
  readonly maxMessageBytes: number;
  load(config: CompleteModelConfig, source: InstanceSource, signal: AbortSignal): Promise<void>;
  unload(config: CompleteModelConfig): Promise<void>;
  retired(config: CompleteModelConfig): Promise<void>;
  /** Whether a version is bound, by whomever. */
  has(config: CompleteModelConfig): boolean;
  /** Whether no request is under way, and nothing else on more than this number of connections. */
  isIdle(connections: number): boolean;
}

export class RemoteModels implements LinkedModels {
  /** The methods for other processes, by path. */
  readonly methods: ReadonlyMap<string, StreamMethod>;
  readonly maxMessageSize: number;
  readonly #server: ServingServer;
  readonly #token: Buffer;
  readonly #links = new Set<RemoteLink>();
  readonly #models = new Map<string, RemoteModel>();
  readonly #modelOf = new Map<Binder, RemoteModel>();
  /** What happens to each name and version. */
  readonly #turns = new Turns();
  #draining: NodeJS.Timeout | undefined;
  #isEnding = false;

  constructor(server: ServingServer, token: string) {
    this.#server = server;
    this.maxMessageSize = server.maxMessageBytes;
    this.#token = digest(token);
    const { maxMessageSize } = this;
    const method = (keepalive: NonNullable<StreamMethod['keepalive']>, open: StreamMethod['open']): StreamMethod => ({
      isTrusted: true,
      maxMessageSize,
      keepalive,
      open: (stream) => (this.#isAllowed(stream) ? open(stream) : NOBODY),
    });
    this.methods = new Map([
      [LINK_METHOD, method(KEEPALIVE, (stream) => this.#link(stream))],
      [DIRECT_METHOD, method(DIRECT_KEEPALIVE, (stream) => this.#direct(stream))],
    ]);
  }

  /** Ends the stream with the reason if not. */
  #isAllowed(stream: AnswerStream): boolean {
    const given = stream.head.header(LINK_TOKEN_HEADER);
    // Digests have one length, so that the comparison tells nothing of the token.
    const isAllowed = given !== undefined && timingSafeEqual(digest(given), this.#token);
    if (isAllowed && !this.#isEnding) return true;
    stream.fail(
      isAllowed
        ? new TritonError('UNAVAILABLE', 'Server exiting')
        : new TritonError('UNAUTHENTICATED', "the access token is not the server's remoteAccessToken"),
    );
    return false;
  }

  #link(stream: AnswerStream): StreamHandler {
    const link = new RemoteLink(stream, this);
    this.#links.add(link);
    return link;
  }

  #direct(stream: AnswerStream): StreamHandler {
    const [, key, channel] = CHANNEL_OF_LINK.exec(stream.head.header(LINK_CHANNEL_HEADER) ?? '') ?? [];
    const link = [...this.#links].find((one) => one.key === key);
    const handler = link?.direct(Number(channel), stream);
    if (handler !== undefined) return handler;
    // A balancer may have chosen another server than that of the link.
    stream.fail(new TritonError('NOT_FOUND', 'the server has no such link, or no channel that waits to be opened'));
    return NOBODY;
  }

  /** Whether another process has bound this name and version. */
  has(config: CompleteModelConfig): boolean {
    return this.#models.has(modelKey(config));
  }

  async bind(binder: Binder, declared: unknown): Promise<void> {
    const config = completed(declared, binder.instances);
    await this.#turns.take(modelKey(config), () => this.#bind(binder, config));
  }

  async #bind(binder: Binder, config: CompleteModelConfig): Promise<void> {
    // It waited for its turn.
    if (binder.link.isOver) throw gone();
    binder.unbound.throwIfAborted();
    const known = this.#models.get(modelKey(config));
    const { name, version } = config;
    if (known === undefined && this.#server.has(config)) {
      const message = `model '${name}' version ${version} is one of the server's own models`;
      throw new TritonError('ALREADY_EXISTS', message);
    }
    const different = known && differenceOf(known.config, config);
    if (known !== undefined && different === undefined) {
      this.#modelOf.set(binder, known);
      await this.#orForget(binder, known.join(binder));
    } else if (known === undefined || known.binders.size === 0) {
      await this.#load(binder, config, known);
    } else {
      const message = `model '${name}' version ${version} is bound by another process with another declaration: ${different}`;
      throw new TritonError('ALREADY_EXISTS', message);
    }
    this.#server.logger.info(`another process has bound '${name}' version ${version}`);
  }

  async #load(binder: Binder, config: CompleteModelConfig, before: RemoteModel | undefined): Promise<void> {
    const key = modelKey(config);
    const model = new RemoteModel({ config, logger: this.#server.logger, warmUp });
    model.binders.add(binder);
    this.#modelOf.set(binder, model);
    this.#models.set(key, model);
    const loading = async () => {
      try {
        await this.#server.load(config, model, binder.unbound);
      } catch (error) {
        if (before !== undefined) this.#models.set(key, before);
        else {
          this.#models.delete(key);
          await this.#server.unload(config);
        }
        throw error;
      }
    };
    await this.#orForget(binder, loading());
  }

  async #orForget(binder: Binder, joining: Promise<void>): Promise<void> {
    try {
      await joining;
    } catch (error) {
      this.#modelOf.delete(binder);
      throw error;
    }
  }

  async unbind(binder: Binder): Promise<void> {
    const model = this.#modelOf.get(binder);
    if (model === undefined) return;
    await this.#turns.take(modelKey(model.config), async () => {
      // Its link may have ended meanwhile.
      if (!this.#modelOf.delete(binder)) return;
      if (model.binders.size > 1) return model.leave(binder);
      this.#models.delete(modelKey(model.config));
      await this.#server.unload(model.config);
      await this.#server.retired(model.config);
      model.binders.delete(binder);
    });
  }

  attached(binder: Binder, opening: number, instance: LinkedInstance): void {
    this.#modelOf.get(binder)?.attached(binder, opening, instance);
  }

  lost(link: RemoteLink, binders: readonly Binder[]): void {
    this.#links.delete(link);
    for (const binder of binders) {
      const model = this.#modelOf.get(binder);
      this.#modelOf.delete(binder);
      model?.lost(binder);
      if (model === undefined || model.binders.size > 0 || this.#isEnding) continue;
      const { name, version } = model.config;
      this.#server.logger.warn(`'${name}' version ${version} has lost the last process that had bound it`);
    }
  }

  /** The server stops: links end when the last requests have. */
  drain(): void {
    if (this.#isEnding) return;
    this.#isEnding = true;
    let wasIdle = false;
    this.#draining = setInterval(() => {
      const connections = [...this.#links].reduce((sum, link) => sum + link.connections, 0);
      const isIdle = this.#server.isIdle(connections);
      // Requests that have come but were not read show a look later.
      if (isIdle && wasIdle) this.end();
      wasIdle = isIdle;
    }, LOOK_MILLISECONDS);
  }

  /** Ends all links. */
  end(): void {
    this.#isEnding = true;
    clearInterval(this.#draining);
    for (const link of this.#links) link.end(new TritonError('UNAVAILABLE', 'Server exiting'));
  }
}

const NOBODY: StreamHandler = {
  message: () => undefined,
  halfClosed: () => undefined,
  cancel: () => undefined,
  drain: () => undefined,
};

function completed(declared: unknown, instances: number): CompleteModelConfig {
  try {
    return completeDeclared(declared, instances);
  } catch (error) {
    // Data of another process may make any check throw.
    throw TritonError.from(error, 'INVALID_ARG');
  }
}

const LONGEST_TEXT = 200;

/** The first member in which two declarations differ. Processes may have different numbers of instances. */
function differenceOf(known: CompleteModelConfig, given: CompleteModelConfig): string | undefined {
  for (const member of new Set([...Object.keys(known), ...Object.keys(given)]) as Set<keyof CompleteModelConfig>) {
    if (member === 'instanceCount' || isDeepStrictEqual(known[member], given[member])) continue;
    if (member === 'modelWarmup') return 'other warm-up requests';
    return `${member} is ${text(given[member])}, expected ${text(known[member])}`;
  }
  return undefined;
}

function text(value: unknown): string {
  const all = JSON.stringify(value) ?? 'not set';
  return all.length <= LONGEST_TEXT ? all : `${all.slice(0, LONGEST_TEXT)}…`;
}

function digest(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
