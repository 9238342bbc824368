// The code of an error that a stream carries as a message. ModelStreamInferResponse has its text alone, so a client that wants the
// code asks for it by a header, and gets it as a parameter. Triton knows neither and ignores the header. Its own way to a code, the
// header `triton_grpc_error`, is not used by our clients: two streams that fail at the same time end tritonserver 2.51.

/** The header, with 'true'. Not with underscores: nginx drops such names. */
export const ERROR_CODES_HEADER = 'tstriton-error-codes';

/** Our clients' headers of a stream. */
export const WANTS_ERROR_CODES = { [ERROR_CODES_HEADER]: 'true' };

/** The parameter of the response beside the error. */
export const ERROR_CODE = 'tstriton_error_code';
