// Keepalive of one connection, as gRPC servers have it: pings to clients that have been silent for long, the end of
// connections that do not answer them, and the end of those that ping without need (gRPC's proposals A8 and A9).

import { constants, type ServerHttp2Session } from 'node:http2';

import type { CallOwner, SendingCall } from './node-http2-call.js';
import { PingStrikes } from './ping-strikes.js';

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
  /** The least time between pings of a client while neither headers nor data are sent or received. */
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
  readonly #calls = new Set<SendingCall>();
  readonly #strikes: PingStrikes;
  #pingsWithoutData = 0;
  #bytesRead = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(session: ServerHttp2Session, options: KeepaliveOptions, log: (message: string) => void) {
    this.#session = session;
    this.#options = options;
    this.#log = log;
    this.#strikes = new PingStrikes(options.maxPingStrikes);
    session.on('ping', () => this.#pinged());
    session.once('close', () => clearTimeout(this.#timer));
    this.#arm();
  }

  callStarted(call: SendingCall): void {
    this.#calls.add(call);
    this.#strikes.dataMoved();
  }

  callClosed(call: SendingCall): void {
    this.#calls.delete(call);
  }

  received(): void {
    this.#strikes.dataMoved();
  }

  sent(): void {
    this.#strikes.dataMoved();
    this.#pingsWithoutData = 0;
  }

  #pinged(): void {
    if (this.#session.destroyed) return;
    const { permitWithoutCalls, minRecvPingInterval } = this.#options;
    const interval = this.#calls.size > 0 || permitWithoutCalls ? minRecvPingInterval : IDLE_PING_INTERVAL;
    const sent = { bytes: this.#session.socket.bytesWritten, unsent: this.#hasUnsent() };
    if (!this.#strikes.pinged(performance.now(), interval, sent)) return;
    this.#log('gRPC connection closed: too many pings');
    this.#session.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM, undefined, TOO_MANY_PINGS);
    setImmediate(() => this.#session.destroy());
  }

  #hasUnsent(): boolean {
    for (const call of this.#calls) if (call.unsent) return true;
    return false;
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
      (this.#calls.size > 0 || permitWithoutCalls) &&
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
