// How a call ends: Triton's error codes as gRPC status codes, and the text beside them as the grpc-message header.

import { isUtf8 } from 'node:buffer';

import type { ErrorCode } from '../../errors.js';

/** The status codes of gRPC. */
export const GRPC_STATUS = {
  OK: 0,
  CANCELLED: 1,
  UNKNOWN: 2,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  ALREADY_EXISTS: 6,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  ABORTED: 10,
  OUT_OF_RANGE: 11,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  DATA_LOSS: 15,
  UNAUTHENTICATED: 16,
} as const;

export type GrpcStatus = (typeof GRPC_STATUS)[keyof typeof GRPC_STATUS];

/** The status for each error code of TSTriton: Triton's own table, and the codes that only clients distinguish. */
export const STATUS_OF_CODE = {
  UNKNOWN: GRPC_STATUS.UNKNOWN,
  INTERNAL: GRPC_STATUS.INTERNAL,
  NOT_FOUND: GRPC_STATUS.NOT_FOUND,
  INVALID_ARG: GRPC_STATUS.INVALID_ARGUMENT,
  UNAVAILABLE: GRPC_STATUS.UNAVAILABLE,
  UNSUPPORTED: GRPC_STATUS.UNIMPLEMENTED,
  ALREADY_EXISTS: GRPC_STATUS.ALREADY_EXISTS,
  CANCELLED: GRPC_STATUS.CANCELLED,
  DEADLINE_EXCEEDED: GRPC_STATUS.DEADLINE_EXCEEDED,
  UNAUTHENTICATED: GRPC_STATUS.UNAUTHENTICATED,
  PERMISSION_DENIED: GRPC_STATUS.PERMISSION_DENIED,
  TOO_LARGE: GRPC_STATUS.RESOURCE_EXHAUSTED,
} as const satisfies Record<ErrorCode, GrpcStatus>;

/**
 * The client's error code for each status. Servers may send any status, so the table has all. RESOURCE_EXHAUSTED may also mean
 * that a message is too large; only its text shows that.
 */
export const CODE_OF_STATUS = {
  [GRPC_STATUS.OK]: 'UNKNOWN',
  [GRPC_STATUS.CANCELLED]: 'CANCELLED',
  [GRPC_STATUS.UNKNOWN]: 'UNKNOWN',
  [GRPC_STATUS.INVALID_ARGUMENT]: 'INVALID_ARG',
  [GRPC_STATUS.DEADLINE_EXCEEDED]: 'DEADLINE_EXCEEDED',
  [GRPC_STATUS.NOT_FOUND]: 'NOT_FOUND',
  [GRPC_STATUS.ALREADY_EXISTS]: 'ALREADY_EXISTS',
  [GRPC_STATUS.PERMISSION_DENIED]: 'PERMISSION_DENIED',
  [GRPC_STATUS.RESOURCE_EXHAUSTED]: 'UNAVAILABLE',
  [GRPC_STATUS.FAILED_PRECONDITION]: 'INVALID_ARG',
  [GRPC_STATUS.ABORTED]: 'UNAVAILABLE',
  [GRPC_STATUS.OUT_OF_RANGE]: 'INVALID_ARG',
  [GRPC_STATUS.UNIMPLEMENTED]: 'UNSUPPORTED',
  [GRPC_STATUS.INTERNAL]: 'INTERNAL',
  [GRPC_STATUS.UNAVAILABLE]: 'UNAVAILABLE',
  [GRPC_STATUS.DATA_LOSS]: 'INTERNAL',
  [GRPC_STATUS.UNAUTHENTICATED]: 'UNAUTHENTICATED',
} as const satisfies Record<GrpcStatus, ErrorCode>;

// Clients refuse header lists beyond a limit, many at 8 kB. Then the status is lost together with the text.
const MAX_ENCODED_BYTES = 6144;
const ELLIPSIS = '...';
const PLAIN_ASCII = /^[!-$&-~](?:[ -$&-~]*[!-$&-~])?$/;
const HEX = '0123456789ABCDEF';

/**
 * The value of the grpc-message header: printable ASCII, all else as %XX of its UTF-8 bytes. Spaces at the ends are
 * escaped too, because HTTP takes them off. A text that is too long for a header ends in `...`.
 */
export function encodeGrpcMessage(message: string): string {
  if (message.length <= MAX_ENCODED_BYTES && PLAIN_ASCII.test(message)) return message;
  // Further characters would be cut off in any case.
  const bytes = Buffer.from(message.slice(0, MAX_ENCODED_BYTES + 1), 'utf8');
  let encoded = '';
  // The text may be cut up to here, with room for the ellipsis.
  let cut = 0;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i]!;
    const startsCharacter = (byte & 0xc0) !== 0x80;
    if (startsCharacter && encoded.length <= MAX_ENCODED_BYTES - ELLIPSIS.length) cut = encoded.length;
    const edge = byte === 0x20 && (i === 0 || i === bytes.length - 1);
    if (byte < 0x20 || byte > 0x7e || byte === 0x25 || edge) encoded += `%${HEX[byte >> 4]!}${HEX[byte & 15]!}`;
    else encoded += String.fromCharCode(byte);
    if (encoded.length > MAX_ENCODED_BYTES) return encoded.slice(0, cut) + ELLIPSIS;
  }
  return encoded;
}

/** The text of a grpc-message header. Text that is not encoded properly is returned unchanged. */
export function decodeGrpcMessage(value: string): string {
  if (!value.includes('%')) return value;
  const bytes: number[] = [];
  for (let i = 0; i < value.length; i++) {
    const escape = value[i] === '%' ? value.slice(i + 1, i + 3) : '';
    if (/^[0-9A-Fa-f]{2}$/.test(escape)) {
      bytes.push(Number.parseInt(escape, 16));
      i += 2;
    } else bytes.push(value.charCodeAt(i) & 0xff);
  }
  const decoded = Buffer.from(bytes);
  return isUtf8(decoded) ? decoded.toString('utf8') : value;
}
