// Keepalive of one connection, as gRPC servers have it (gRPC's proposals A8 and A9). It pings clients that have been silent for
// long, ends connections that do not answer, and ends connections that ping without need.

import type { ConnectionControl } from '../../http2/connection-listener.js';
import type { ErrorCodeName } from '../../http2/http2-error.js';
import { ServedTimer } from '../../pacing/served-timer.js';

// Finds clients that ping too often. gRPC's clients ping for two reasons. To see whether the server is still there, they should
// ping seldom. To measure how fast data comes, they ping often, and stop with the data. So a ping counts when it comes soon after
// the last one and no call sent or received anything between the two (gRPC's proposal A8).

/** What a connection has carried when a ping comes. */
export interface Traffic {
  /** Frames of calls, sent and received together. */
  readonly messageFrames: number;
  /** The operating system takes nothing more: neither data nor answers to pings. */
  readonly isStuck: boolean;
}

export class PingStrikes {
  readonly #max: number;
  #strikes = 0;
  #lastPing = -Infinity;
  #messageFrames = 0;

  /** `max`: how many pings may come too soon. 0 allows any number. */
  constructor(max: number) {
    this.#max = max;
  }

  /**
   * Takes a ping. It counts if less than `interval` milliseconds have passed since the one before. Returns true when there are
   * too many.
   */
  pinged(now: number, interval: number, { messageFrames, isStuck }: Traffic): boolean {
    if (messageFrames !== this.#messageFrames) this.#strikes = 0;
    else if (!isStuck && now < this.#lastPing + interval) this.#strikes++;
    this.#messageFrames = messageFrames;
    this.#lastPing = now;
    return this.#max !== 0 && this.#strikes > this.#max;
  }
}

/** Triton's `--grpc-keepalive-*` and `--grpc-http2-*`; times in milliseconds. */
export interface KeepaliveOptions {
  /** How long a client may be silent before it is pinged. */
  readonly keepaliveTime: number;
  /** How long the answer to a ping may take. */
  readonly keepaliveTimeout: number;
  /** Whether there are pings while no call is under way. */
  readonly permitWithoutCalls: boolean;
  /** How many pings are sent before other data has to be sent; 0: any number. */
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

/** The least time between pings of a client without calls, unless such pings are permitted. RFC 1122 has it for TCP's keepalive. */
const IDLE_PING_INTERVAL = 7_200_000;

export class ConnectionKeepalive {
  /** Whether keepalive has ended the connection, and logged why. */
  hasClosed = false;
  readonly #connection: ConnectionControl;
  readonly #options: KeepaliveOptions;
  readonly #log: (message: string) => void;
  readonly #strikes: PingStrikes;
  #pingsWithoutData = 0;
  /** The number of sent frames when {@link #pingsWithoutData} was counted. */
  #sentFrames = 0;
  #receivedBytes = 0;
  #timer: ServedTimer | undefined;
  #isStopped = false;

  constructor(connection: ConnectionControl, options: KeepaliveOptions, log: (message: string) => void) {
    this.#connection = connection;
    this.#options = options;
    this.#log = log;
    this.#strikes = new PingStrikes(options.maxPingStrikes);
    this.#arm();
  }

  /** The client has sent a ping. */
  pinged(now: number): void {
    const connection = this.#connection;
    const { permitWithoutCalls, minRecvPingInterval } = this.#options;
    const interval = connection.openStreams > 0 || permitWithoutCalls ? minRecvPingInterval : IDLE_PING_INTERVAL;
    const messageFrames = connection.receivedMessageFrames + connection.sentMessageFrames;
    if (!this.#strikes.pinged(now, interval, { messageFrames, isStuck: connection.isCongested })) return;
    this.#close('ENHANCE_YOUR_CALM', 'too_many_pings', 'too many pings');
  }

  /** The connection has ended. */
  stop(): void {
    this.#isStopped = true;
    this.#timer?.clear();
  }

  /** `debugData` is for the client, `reason` for the log. */
  #close(code: ErrorCodeName, debugData: string, reason: string): void {
    this.hasClosed = true;
    this.#log(`gRPC connection closed: ${reason}`);
    this.#connection.close(code, debugData);
  }

  #arm(): void {
    this.#timer?.clear();
    this.#timer = new ServedTimer(() => this.#look(), this.#options.keepaliveTime);
  }

  /** Pings if nothing came meanwhile. */
  #look(): void {
    const { permitWithoutCalls, maxPingsWithoutData, keepaliveTimeout } = this.#options;
    const connection = this.#connection;
    if (connection.sentMessageFrames !== this.#sentFrames) this.#pingsWithoutData = 0;
    this.#sentFrames = connection.sentMessageFrames;
    const silent = !this.#hasReceived();
    const permitted =
      (connection.openStreams > 0 || permitWithoutCalls) &&
      (maxPingsWithoutData === 0 || this.#pingsWithoutData < maxPingsWithoutData);
    if (!silent || !permitted) return this.#arm();
    this.#pingsWithoutData++;
    connection.ping(() => this.#answered());
    this.#timer = new ServedTimer(() => {
      // The answer has not come, but other bytes have: the client is there.
      if (this.#hasReceived()) return this.#arm();
      this.#close('NO_ERROR', '', 'keepalive watchdog timeout');
    }, keepaliveTimeout);
  }

  #answered(): void {
    if (this.#isStopped) return;
    // The bytes of the answer itself do not count as received later.
    this.#hasReceived();
    this.#arm();
  }

  /** Whether bytes have come since the last call of this method. */
  #hasReceived(): boolean {
    const { receivedBytes } = this.#connection;
    const more = receivedBytes !== this.#receivedBytes;
    this.#receivedBytes = receivedBytes;
    return more;
  }
}
