// The HTTP/2 frames that the gRPC load generator sends, built ahead of a run. A connection's first request puts its
// header fields into the server's HPACK table and every later one refers to them, as gRPC's own clients do.

import { FRAME_HEADER_LENGTH, LONGEST_PAYLOAD } from './http2-frame-reader.js';

export const FRAME = {
  DATA: 0,
  HEADERS: 1,
  RST_STREAM: 3,
  SETTINGS: 4,
  PING: 6,
  GOAWAY: 7,
  WINDOW_UPDATE: 8,
  CONTINUATION: 9,
} as const;

export const FLAG = { END_STREAM: 1, ACK: 1, END_HEADERS: 4, PADDED: 8 } as const;

export const SETTING = {
  HEADER_TABLE_SIZE: 1,
  ENABLE_PUSH: 2,
  MAX_CONCURRENT_STREAMS: 3,
  INITIAL_WINDOW_SIZE: 4,
} as const;

export const DEFAULT_WINDOW = 65_535;
export const LARGEST_WINDOW = 0x7fffffff;

export const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
const INDEXED = 0x80;
const POST = INDEXED | 3; // :method POST in HPACK's static table
const SCHEME_HTTP = INDEXED | 6;
const STATIC_ENTRIES = 61;

export function frame(type: number, flags: number, streamId: number, payload: Uint8Array): Buffer {
  const head = Buffer.alloc(FRAME_HEADER_LENGTH);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(streamId, 5);
  return Buffer.concat([head, payload]);
}

export function settings(values: readonly (readonly [number, number])[]): Buffer {
  const payload = Buffer.alloc(values.length * 6);
  values.forEach(([id, value], i) => {
    payload.writeUInt16BE(id, i * 6);
    payload.writeUInt32BE(value, i * 6 + 2);
  });
  return frame(FRAME.SETTINGS, 0, 0, payload);
}

export function windowUpdate(streamId: number, increment: number): Buffer {
  const payload = Buffer.alloc(4);
  payload.writeUInt32BE(increment);
  return frame(FRAME.WINDOW_UPDATE, 0, streamId, payload);
}

/** What a client says first: windows so large that answers never wait for an update. */
export function opening(): Buffer {
  return Buffer.concat([
    PREFACE,
    settings([
      [SETTING.ENABLE_PUSH, 0],
      [SETTING.INITIAL_WINDOW_SIZE, LARGEST_WINDOW],
    ]),
    windowUpdate(0, LARGEST_WINDOW - DEFAULT_WINDOW),
  ]);
}

function literal(text: string): Buffer {
  const bytes = Buffer.from(text, 'latin1');
  if (bytes.length >= 127) throw new RangeError(`expected a header text below 127 bytes, got ${bytes.length}`);
  return Buffer.concat([Buffer.of(bytes.length), bytes]);
}

// Literal fields with incremental indexing: 0x40 with the name's index in the static table, or 0 and the name.
function fieldsOf(path: string, authority: string): readonly Buffer[] {
  const named = (index: number, value: string): Buffer => Buffer.concat([Buffer.of(0x40 | index), literal(value)]);
  const unnamed = (name: string, value: string): Buffer =>
    Buffer.concat([Buffer.of(0x40), literal(name), literal(value)]);
  return [
    named(4, path),
    named(1, authority),
    unnamed('te', 'trailers'),
    named(31, 'application/grpc'),
    named(58, 'tstriton-bench'),
    unnamed('grpc-accept-encoding', 'identity,deflate,gzip'),
  ];
}

export interface RequestTemplate {
  readonly bytes: Buffer;
  /** Where the second frame, DATA, begins; both frames' stream ids are to be filled in. */
  readonly dataAt: number;
}

/** HEADERS and DATA of one unary call; `first` inserts the header fields into the table, the others refer to it. */
export function requestTemplate(
  call: { readonly path: string; readonly authority: string; readonly message: Uint8Array },
  first: boolean,
): RequestTemplate {
  const fields = fieldsOf(call.path, call.authority);
  // The newest entry has the lowest index, so the first field ends up with the highest.
  const references = fields.map((_, i) => Buffer.of(INDEXED | (STATIC_ENTRIES + fields.length - i)));
  const block = Buffer.concat([Buffer.of(POST, SCHEME_HTTP), ...(first ? fields : references)]);
  const data = framed(call.message);
  if (data.length > LONGEST_PAYLOAD) {
    throw new RangeError(
      `this generator sends a message in one frame, up to ${LONGEST_PAYLOAD - 5} bytes, got ${call.message.length}`,
    );
  }
  const headers = frame(FRAME.HEADERS, FLAG.END_HEADERS, 0, block);
  return { bytes: Buffer.concat([headers, frame(FRAME.DATA, FLAG.END_STREAM, 0, data)]), dataAt: headers.length };
}

/** A message as gRPC sends it. */
export function framed(message: Uint8Array, { isCompressed = false } = {}): Buffer {
  const prefix = Buffer.alloc(5);
  prefix[0] = Number(isCompressed);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}
