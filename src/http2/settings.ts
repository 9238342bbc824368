// SETTINGS frames (RFC 9113, section 6.5): what a peer allows, checked.

import {
  DEFAULT_WINDOW,
  MAX_MAX_FRAME_SIZE,
  MAX_WINDOW,
  MIN_MAX_FRAME_SIZE,
  readUint32,
  writeUint32,
} from './frame.js';
import { DEFAULT_TABLE_SIZE } from './hpack/hpack-decoder.js';
import { Http2Error } from './http2-error.js';

export const SETTING = {
  HEADER_TABLE_SIZE: 0x1,
  ENABLE_PUSH: 0x2,
  MAX_CONCURRENT_STREAMS: 0x3,
  INITIAL_WINDOW_SIZE: 0x4,
  MAX_FRAME_SIZE: 0x5,
  MAX_HEADER_LIST_SIZE: 0x6,
} as const;

export const SETTING_BYTES = 6;

/** The settings of one side of a connection. Settings that it has not sent are as RFC 9113 begins. */
export interface Settings {
  readonly headerTableSize: number;
  /** The smallest of several in one frame, and otherwise the same: tables shrink and grow in between (RFC 7541, section 4.2). */
  readonly leastHeaderTableSize: number;
  readonly maxConcurrentStreams: number;
  readonly initialWindowSize: number;
  readonly maxFrameSize: number;
  readonly maxHeaderListSize: number;
}

export const INITIAL_SETTINGS: Settings = {
  headerTableSize: DEFAULT_TABLE_SIZE,
  leastHeaderTableSize: DEFAULT_TABLE_SIZE,
  maxConcurrentStreams: Infinity,
  initialWindowSize: DEFAULT_WINDOW,
  maxFrameSize: MIN_MAX_FRAME_SIZE,
  maxHeaderListSize: Infinity,
};

/** The settings after the payload `bytes[start…end)`. Throws what the connection fails with (section 6.5.2). */
export function readSettings(
  before: Settings,
  bytes: Uint8Array,
  { start, end }: { start: number; end: number },
): Settings {
  const settings: { -readonly [K in keyof Settings]: Settings[K] } = { ...before };
  let leastHeaderTableSize = Infinity;
  for (let at = start; at < end; at += SETTING_BYTES) {
    const value = readUint32(bytes, at + 2);
    switch ((bytes[at]! << 8) | bytes[at + 1]!) {
      case SETTING.HEADER_TABLE_SIZE:
        settings.headerTableSize = value;
        leastHeaderTableSize = Math.min(leastHeaderTableSize, value);
        break;
      case SETTING.ENABLE_PUSH:
        if (value > 1) throw new Http2Error('PROTOCOL_ERROR', `SETTINGS_ENABLE_PUSH ${value}, expected 0 or 1`);
        break;
      case SETTING.MAX_CONCURRENT_STREAMS:
        settings.maxConcurrentStreams = value;
        break;
      case SETTING.INITIAL_WINDOW_SIZE:
        if (value > MAX_WINDOW) {
          throw new Http2Error(
            'FLOW_CONTROL_ERROR',
            `SETTINGS_INITIAL_WINDOW_SIZE ${value}, expected at most ${MAX_WINDOW}`,
          );
        }
        settings.initialWindowSize = value;
        break;
      case SETTING.MAX_FRAME_SIZE:
        if (value < MIN_MAX_FRAME_SIZE || value > MAX_MAX_FRAME_SIZE) {
          throw new Http2Error(
            'PROTOCOL_ERROR',
            `SETTINGS_MAX_FRAME_SIZE ${value}, expected ${MIN_MAX_FRAME_SIZE} to ${MAX_MAX_FRAME_SIZE}`,
          );
        }
        settings.maxFrameSize = value;
        break;
      case SETTING.MAX_HEADER_LIST_SIZE:
        settings.maxHeaderListSize = value;
        break;
      default: // Unknown settings are ignored.
    }
  }
  settings.leastHeaderTableSize = Math.min(leastHeaderTableSize, settings.headerTableSize);
  return settings;
}

/** The payload that says these settings. */
export function encodeSettings(entries: readonly (readonly [id: number, value: number])[]): Uint8Array {
  const payload = new Uint8Array(entries.length * SETTING_BYTES);
  entries.forEach(([id, value], i) => {
    payload[i * SETTING_BYTES] = id >>> 8;
    payload[i * SETTING_BYTES + 1] = id;
    writeUint32(payload, i * SETTING_BYTES + 2, value);
  });
  return payload;
}
