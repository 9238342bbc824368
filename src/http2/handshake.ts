// How a connection begins (RFC 9113, sections 3.4 and 6.5.3): the client's preface, and settings that each side sends first
// and the other acknowledges.

import type { CompleteConnectionOptions } from './connection-options.js';
import { CLIENT_PREFACE, DEFAULT_WINDOW, FLAG, FRAME } from './frame.js';
import { Http2Error } from './http2-error.js';
import type { Sender } from './sender.js';
import { encodeSettings, INITIAL_SETTINGS, readSettings, SETTING, type Settings } from './settings.js';
import { Stopwatch } from '../sockets/stopwatch.js';
import type { Role } from './connection-options.js';

const PREFACE = Buffer.from(CLIENT_PREFACE);
const NO_PAYLOAD = new Uint8Array(0);

export class Handshake {
  /** What the peer allows, as far as it has told. */
  peer: Settings = INITIAL_SETTINGS;
  /** The peer's settings have come. */
  isReady = false;
  /** The peer acts by our settings. */
  isAcknowledged = false;
  /** Of new streams: until our settings are acknowledged, the peer may still go by the larger default (section 6.9.2). */
  receiveWindow: number;
  /** Whether a server still waits for the preface. */
  needsPreface: boolean;
  readonly #role: Role;
  readonly #sender: Sender;
  readonly #options: CompleteConnectionOptions;
  readonly #time = new Stopwatch();
  /** Of the client's preface: what a server has seen. */
  #prefaceBytes = 0;
  #isIntroduced = false;

  constructor(role: Role, sender: Sender, options: CompleteConnectionOptions) {
    this.#role = role;
    this.#sender = sender;
    this.#options = options;
    this.receiveWindow = Math.max(options.streamWindow, DEFAULT_WINDOW);
    this.needsPreface = role === 'server';
  }

  /** What this side says first, once: a client at once, a server when the preface has come. */
  introduce(): void {
    if (this.#isIntroduced) return;
    this.#isIntroduced = true;
    const { maxConcurrentStreams, streamWindow, connectionWindow, maxFrameSize, ...rest } = this.#options;
    const isClient = this.#role === 'client';
    if (isClient) this.#sender.writePreface(PREFACE);
    const settings = encodeSettings([
      [SETTING.HEADER_TABLE_SIZE, rest.headerTableSize],
      isClient ? [SETTING.ENABLE_PUSH, 0] : [SETTING.MAX_CONCURRENT_STREAMS, maxConcurrentStreams],
      [SETTING.INITIAL_WINDOW_SIZE, streamWindow],
      [SETTING.MAX_FRAME_SIZE, maxFrameSize],
      [SETTING.MAX_HEADER_LIST_SIZE, rest.maxHeaderListSize],
    ]);
    this.#sender.writeControl(FRAME.SETTINGS, 0, settings);
    if (connectionWindow > DEFAULT_WINDOW) this.#sender.writeWindowUpdate(0, connectionWindow - DEFAULT_WINDOW);
  }

  /** Reads the preface from `bytes[start…end)`. Returns where the preface or the bytes end, or -1 for other bytes. */
  readPreface(bytes: Buffer, start: number, end: number): number {
    const next = Math.min(end, start + PREFACE.length - this.#prefaceBytes);
    const isRight = PREFACE.compare(bytes, start, next, this.#prefaceBytes, this.#prefaceBytes + next - start) === 0;
    if (!isRight) return -1;
    this.#prefaceBytes += next - start;
    if (this.#prefaceBytes === PREFACE.length) {
      this.needsPreface = false;
      this.introduce();
    }
    return next;
  }

  /** Settings of the peer have come. Throws what the connection fails with. */
  receive(bytes: Buffer, range: { readonly start: number; readonly end: number }): Settings {
    this.peer = readSettings(this.peer, bytes, range);
    this.isReady = true;
    this.#sender.writeControl(FRAME.SETTINGS, FLAG.ACK, NO_PAYLOAD);
    return this.peer;
  }

  /** The peer has acknowledged our settings. */
  acknowledged(): void {
    this.isAcknowledged = true;
    this.receiveWindow = this.#options.streamWindow;
  }

  /** The error when the peer takes too long. */
  findDelay(now: number): Http2Error | undefined {
    const { handshakeTimeout } = this.#options;
    const elapsed = this.#time.look(now, !(this.isReady && this.isAcknowledged));
    if (handshakeTimeout === 0 || elapsed < handshakeTimeout) return undefined;
    return this.isReady
      ? new Http2Error('SETTINGS_TIMEOUT', `our settings were not acknowledged within ${handshakeTimeout} ms`)
      : new Http2Error('PROTOCOL_ERROR', `no settings within ${handshakeTimeout} ms`);
  }
}
