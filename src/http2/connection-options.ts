// The options of a connection, and their defaults. Times are in milliseconds; 0 stands for never.

import { MAX_MAX_FRAME_SIZE, MAX_WINDOW, MIN_MAX_FRAME_SIZE } from './frame.js';

/** The side of a connection. */
export type Role = 'client' | 'server';

export interface ConnectionOptions {
  /**
   * Streams that the peer may have open at once; more are refused, and may be tried again. With the largest heads they take 64 MB,
   * {@link maxHeaderListSize} each.
   */
  readonly maxConcurrentStreams?: number;
  /** Bytes that the peer may send on a stream before they are consumed. */
  readonly streamWindow?: number;
  /** The same for all streams together: what the connection can cost in memory. */
  readonly connectionWindow?: number;
  /** Of frames that we receive. */
  readonly maxFrameSize?: number;
  /** Of the dynamic table that the peer compresses headers with. */
  readonly headerTableSize?: number;
  /** Of the fields of one message: names, values, and 32 bytes each. */
  readonly maxHeaderListSize?: number;
  /** Data that waits at streams because the peer does not take it. Beyond this the connection is closed. */
  readonly maxQueuedBytes?: number;
  /** How long the peer may take until its first frame and its acknowledgement of our settings have come. */
  readonly handshakeTimeout?: number;
  /** How long there may be no stream before the connection is closed. */
  readonly idleTimeout?: number;
  /** How long a peer that goes on pinging and opening streams may take to learn that the connection is to end. */
  readonly drainTimeout?: number;
  /** What a peer may waste: frames that carry nothing, at once and in each second (flood-guard.ts). */
  readonly floodCredit?: number;
  readonly floodCreditPerSecond?: number;
}

export type CompleteConnectionOptions = Required<ConnectionOptions>;

const DEFAULTS: CompleteConnectionOptions = {
  maxConcurrentStreams: 1000,
  streamWindow: 16 << 20,
  connectionWindow: 64 << 20,
  maxFrameSize: 1 << 20,
  headerTableSize: 4096,
  maxHeaderListSize: 65_536,
  maxQueuedBytes: 2 ** 30,
  handshakeTimeout: 10_000,
  idleTimeout: 0,
  drainTimeout: 1000,
  floodCredit: 2000,
  floodCreditPerSecond: 1000,
};

/** What the protocol has room for. */
const RANGES: Partial<Record<keyof ConnectionOptions, readonly [least: number, most: number]>> = {
  maxConcurrentStreams: [0, 0xffff_ffff],
  streamWindow: [0, MAX_WINDOW],
  connectionWindow: [0, MAX_WINDOW],
  maxFrameSize: [MIN_MAX_FRAME_SIZE, MAX_MAX_FRAME_SIZE],
  headerTableSize: [0, 0xffff_ffff],
  maxHeaderListSize: [0, 0xffff_ffff],
};

/** Throws a RangeError for what cannot be told to a peer. */
export function completeOptions(options: ConnectionOptions = {}): CompleteConnectionOptions {
  const complete = { ...DEFAULTS, ...options };
  for (const [name, [least, most]] of Object.entries(RANGES)) {
    const value = complete[name as keyof ConnectionOptions];
    if (Number.isInteger(value) && value >= least && value <= most) continue;
    throw new RangeError(`${name}: expected an integer from ${least} to ${most}, got ${value}`);
  }
  return complete;
}
