// The code of an error that a stream carries as a message. ModelStreamInferResponse has its text alone, so a client that wants the
// code asks for it by a header, and gets it as a parameter. Triton knows neither and ignores the header. Its own way to a code, the
// header `triton_grpc_error`, is not used by our clients: two streams that fail at the same time end tritonserver 2.51.

import { type ErrorCode, HTTP_STATUS } from '../../errors.js';

/** The header, with 'true'. Not with underscores: nginx drops such names. */
export const ERROR_CODES_HEADER = 'tstriton-error-codes';

/** Our clients' headers of a stream. */
export const WANTS_ERROR_CODES = { [ERROR_CODES_HEADER]: 'true' };

/** The parameter of the response beside the error. */
export const ERROR_CODE = 'tstriton_error_code';

/** The code that the parameter has. Triton sends none: there its words about an unknown model are NOT_FOUND, and all others UNKNOWN. */
export function codeOfStreamError(parameter: unknown, error: string): ErrorCode {
  if (typeof parameter === 'string' && Object.hasOwn(HTTP_STATUS, parameter)) return parameter as ErrorCode;
  return saysUnknownModel(error) ? 'NOT_FOUND' : 'UNKNOWN';
}

/** Whether these are Triton's words about an unknown model. */
export function saysUnknownModel(message: string): boolean {
  return message.startsWith('Request for unknown model');
}
