// Keepalive of one connection, as gRPC servers have it: pings to clients that have been silent for long, the end of
// connections that do not answer them, and the end of those that ping without need (gRPC's proposals A8 and A9).

import { constants, type ServerHttp2Session } from 'node:http2';

import type { CallOwner } from './node-http2-call.js';

/** Triton's `--grpc-keepalive-*` and `--grpc-http2-*`; times in milliseconds. */
export interface KeepaliveOptions {
  /** How long a client may be silent before it is pinged. */
  readonly keepaliveTime: number;
  /** How long the answer to a ping may take. */
  readonly keepaliveTimeout: number;
  /** Whether there are pings while no call is under way. */
  readonly permitWithoutCalls: boolean;
  /** How many pings are sent until there is something else to send; 0: any number. */
  readonly maxPingsWithoutData: number;
  /** The least time between pings of a client to which nothing was sent meanwhile. */
  readonly minRecvPingInterval: number;
  /** How many pings may come sooner; 0: any number. */
  readonly maxPingStrikes: number;
}

/** Triton's. */
export const DEFAULT_KEEPALIVE: KeepaliveOptions = {
  keepaliveTime: 7_200_000,
  keepaliveTimeout: 20_000,
  permitWithoutCalls: false,
  maxPingsWithoutData: 2,
  minRecvPingInterval: 300_000,
  maxPingStrikes: 2,
};

/** Between pings of a client without calls, unless those are permitted: what RFC 1122 says of TCP's keepalive. */
const IDLE_PING_INTERVAL = 7_200_000;

const TOO_MANY_PINGS = Buffer.from('too_many_pings');

export class SessionKeepalive implements CallOwner {
  readonly #session: ServerHttp2Session;
  readonly #options: KeepaliveOptions;
  readonly #log: (message: string) => void;
  #calls = 0;
  #lastPing = -Infinity;
  #strikes = 0;
  #pingsWithoutData = 0;
  #bytesRead = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(session: ServerHttp2Session, options: KeepaliveOptions, log: (message: string) => void) {
    this.#session = session;
    this.#options = options;
    this.#log = log;
    session.on('ping', () => this.#pinged());
    session.once('close', () => clearTimeout(this.#timer));
    this.#arm();
  }

  callStarted(): void {
    this.#calls++;
  }

  callClosed(): void {
    this.#calls--;
  }

  sent(): void {
    this.#lastPing = -Infinity;
    this.#strikes = 0;
    this.#pingsWithoutData = 0;
  }

  #pinged(): void {
    const { permitWithoutCalls, minRecvPingInterval, maxPingStrikes } = this.#options;
    const now = performance.now();
    const interval = this.#calls > 0 || permitWithoutCalls ? minRecvPingInterval : IDLE_PING_INTERVAL;
    if (now < this.#lastPing + interval) this.#strikes++;
    this.#lastPing = now;
    if (maxPingStrikes === 0 || this.#strikes <= maxPingStrikes || this.#session.destroyed) return;
    this.#log('gRPC connection closed: too many pings');
    this.#session.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM, undefined, TOO_MANY_PINGS);
    setImmediate(() => this.#session.destroy());
  }

  #arm(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#look(), this.#options.keepaliveTime).unref();
  }

  /** Time to ping, unless something came meanwhile. */
  #look(): void {
    const { permitWithoutCalls, maxPingsWithoutData, keepaliveTimeout } = this.#options;
    if (this.#session.destroyed) return;
    const silent = !this.#hasRead();
    const permitted =
      (this.#calls > 0 || permitWithoutCalls) &&
      (maxPingsWithoutData === 0 || this.#pingsWithoutData < maxPingsWithoutData);
    if (!silent || !permitted) return this.#arm();
    this.#pingsWithoutData++;
    this.#session.ping(() => this.#answered());
    this.#timer = setTimeout(() => {
      if (this.#session.destroyed) return;
      // Not the answer, but anything else: the client is there.
      if (this.#hasRead()) return this.#arm();
      this.#log('gRPC connection closed: keepalive watchdog timeout');
      this.#session.destroy();
    }, keepaliveTimeout).unref();
  }

  /** A ping was answered, or the connection has ended. */
  #answered(): void {
    clearTimeout(this.#timer);
    if (this.#session.destroyed) return;
    // The answer itself is no sign of what comes after it.
    this.#hasRead();
    this.#arm();
  }

  /** Whether bytes have come since this was asked before. */
  #hasRead(): boolean {
    const bytes = this.#session.socket.bytesRead;
    const more = bytes !== this.#bytesRead;
    this.#bytesRead = bytes;
    return more;
  }
}
