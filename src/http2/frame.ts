// The constants of HTTP/2's frames (RFC 9113, sections 4 and 6). A frame is a head of nine bytes, length (24 bits), type,
// flags and stream id (31 bits), and as many bytes of payload as the length says.

export const FRAME_HEAD_BYTES = 9;

export const FRAME = {
  DATA: 0x0,
  HEADERS: 0x1,
  PRIORITY: 0x2,
  RST_STREAM: 0x3,
  SETTINGS: 0x4,
  PUSH_PROMISE: 0x5,
  PING: 0x6,
  GOAWAY: 0x7,
  WINDOW_UPDATE: 0x8,
  CONTINUATION: 0x9,
} as const;

export const FLAG = { END_STREAM: 0x1, ACK: 0x1, END_HEADERS: 0x4, PADDED: 0x8, PRIORITY: 0x20 } as const;

/** What a client sends first (section 3.4). */
export const CLIENT_PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';

/** Of SETTINGS_MAX_FRAME_SIZE (section 6.5.2). */
export const MIN_MAX_FRAME_SIZE = 16_384;
export const MAX_MAX_FRAME_SIZE = 16_777_215;
/** Of every window until it is changed (section 6.9.2), and of any window ever (section 6.9.1). */
export const DEFAULT_WINDOW = 65_535;
export const MAX_WINDOW = 0x7fff_ffff;
export const MAX_STREAM_ID = 0x7fff_ffff;

/** What every frame begins with. */
export interface FrameHead {
  readonly length: number;
  readonly type: number;
  readonly flags: number;
  readonly streamId: number;
}

/** Writes a frame's head at `at`; returns where the payload begins. */
export function writeFrameHead(target: Uint8Array, at: number, head: FrameHead): number {
  const { length, type, flags, streamId } = head;
  target[at] = length >>> 16;
  target[at + 1] = length >>> 8;
  target[at + 2] = length;
  target[at + 3] = type;
  target[at + 4] = flags;
  target[at + 5] = streamId >>> 24;
  target[at + 6] = streamId >>> 16;
  target[at + 7] = streamId >>> 8;
  target[at + 8] = streamId;
  return at + FRAME_HEAD_BYTES;
}

/** Returns where the number ends. */
export function writeUint32(target: Uint8Array, at: number, value: number): number {
  target[at] = value >>> 24;
  target[at + 1] = value >>> 16;
  target[at + 2] = value >>> 8;
  target[at + 3] = value;
  return at + 4;
}

export function readUint32(bytes: Uint8Array, at: number): number {
  return ((bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!) >>> 0;
}

/** Stream ids and window increments: the highest bit is reserved and ignored (section 4.1). */
export function readUint31(bytes: Uint8Array, at: number): number {
  return ((bytes[at]! & 0x7f) << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!;
}
