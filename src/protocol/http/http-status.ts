// The HTTP status of each error code (Triton's HttpCodeFromError).

import type { ErrorCode } from '../../errors.js';

export const HTTP_STATUS = {
  UNKNOWN: 400,
  INTERNAL: 500,
  NOT_FOUND: 404,
  INVALID_ARG: 400,
  UNAVAILABLE: 503,
  UNSUPPORTED: 501,
  ALREADY_EXISTS: 400,
  CANCELLED: 400,
} as const satisfies Record<ErrorCode, number>;
