// Errors of HTTP/2 connections: the error codes of RFC 9113, section 7, by name, and the one error type of this folder.

export const ERROR_CODE = {
  NO_ERROR: 0x0,
  PROTOCOL_ERROR: 0x1,
  INTERNAL_ERROR: 0x2,
  FLOW_CONTROL_ERROR: 0x3,
  SETTINGS_TIMEOUT: 0x4,
  STREAM_CLOSED: 0x5,
  FRAME_SIZE_ERROR: 0x6,
  REFUSED_STREAM: 0x7,
  CANCEL: 0x8,
  COMPRESSION_ERROR: 0x9,
  CONNECT_ERROR: 0xa,
  ENHANCE_YOUR_CALM: 0xb,
  INADEQUATE_SECURITY: 0xc,
  HTTP_1_1_REQUIRED: 0xd,
} as const;

export type ErrorCodeName = keyof typeof ERROR_CODE;

const NAMES = Object.keys(ERROR_CODE) as ErrorCodeName[];

/** The name of an error code that a peer sent; codes that RFC 9113 does not know count as INTERNAL_ERROR (section 7). */
export function nameOfErrorCode(code: number): ErrorCodeName {
  return NAMES[code] ?? 'INTERNAL_ERROR';
}

/** An error of a connection or a stream. `code` is the code that one side sent to the other, or CONNECTION_LOST. */
export class Http2Error extends Error {
  override readonly name = 'Http2Error';
  readonly code: ErrorCodeName | 'CONNECTION_LOST';

  constructor(code: ErrorCodeName | 'CONNECTION_LOST', message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
