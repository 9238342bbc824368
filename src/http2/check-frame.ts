// What can be wrong with a frame's head alone (RFC 9113, sections 4.2 and 6): lengths, and streams where there is none. Every such
// error ends the connection.

import { FLAG, FRAME, type FrameHead } from './frame.js';
import { Http2Error } from './http2-error.js';
import { SETTING_BYTES } from './settings.js';

const NAMES = Object.keys(FRAME);

export function nameOfFrame(type: number): string {
  return NAMES[type] ?? `frame of type ${type}`;
}

/** Frames of one length. */
const FIXED_LENGTHS = new Map<number, number>([
  [FRAME.PRIORITY, 5],
  [FRAME.RST_STREAM, 4],
  [FRAME.PING, 8],
  [FRAME.WINDOW_UPDATE, 4],
]);
/** Frames about the connection; all others but WINDOW_UPDATE are about a stream. */
const OF_CONNECTION = new Set<number>([FRAME.SETTINGS, FRAME.PING, FRAME.GOAWAY]);
const SHORTEST_GOAWAY = 8;

export function findFrameProblem(head: FrameHead, maxFrameSize: number): Http2Error | undefined {
  const { length, type, streamId } = head;
  if (length > maxFrameSize) return sizeError(head, `at most ${maxFrameSize}`);
  // Most frames by far.
  if (type <= FRAME.HEADERS && streamId !== 0) return undefined;
  // Unknown frames may be anything (section 5.5).
  if (type > FRAME.CONTINUATION) return undefined;
  if (type !== FRAME.WINDOW_UPDATE && OF_CONNECTION.has(type) !== (streamId === 0)) {
    return new Http2Error('PROTOCOL_ERROR', `${nameOfFrame(type)} on stream ${streamId}`);
  }
  const fixed = FIXED_LENGTHS.get(type);
  if (fixed !== undefined && length !== fixed) return sizeError(head, String(fixed));
  if (type === FRAME.GOAWAY && length < SHORTEST_GOAWAY) return sizeError(head, `at least ${SHORTEST_GOAWAY}`);
  if (type !== FRAME.SETTINGS) return undefined;
  if ((head.flags & FLAG.ACK) !== 0) return length === 0 ? undefined : sizeError(head, '0 with ACK');
  return length % SETTING_BYTES === 0 ? undefined : sizeError(head, `a multiple of ${SETTING_BYTES}`);
}

function sizeError({ length, type }: FrameHead, expected: string): Http2Error {
  return new Http2Error('FRAME_SIZE_ERROR', `${nameOfFrame(type)} of ${length} bytes, expected ${expected}`);
}
