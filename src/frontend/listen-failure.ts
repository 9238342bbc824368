// Opens ports, and says why one could not be opened, in one wording for all protocols: Triton's where it has one.

import { TritonError } from '../errors.js';

/** Resolves with the real port. Rejects with UNAVAILABLE when the address cannot be used. */
export async function listenAt(
  listener: { listen(address: string, port: number): Promise<number> },
  address: string,
  port: number,
): Promise<number> {
  try {
    return await listener.listen(address, port);
  } catch (error) {
    throw listenFailure(error as NodeJS.ErrnoException, address, port);
  }
}

/** UNAVAILABLE, with what Node said as its cause. */
export function listenFailure(error: NodeJS.ErrnoException, address: string, port: number): TritonError {
  const socket = `'${address}:${port}'`;
  const message =
    error.code === 'EADDRINUSE' ? `Socket ${socket} already in use` : `cannot listen on ${socket}: ${error.message}`;
  return new TritonError('UNAVAILABLE', message, { cause: error });
}

/** The ports whose address is an option too. */
const ADDRESSED = ['http', 'grpc', 'metrics'];

/** A failure of `listenAt` with the names of the options to change: `httpPort` and `httpAddress` for the prefix `http`. */
export function withOptions(failure: TritonError, prefix: string): TritonError {
  const { code } = (failure.cause ?? {}) as NodeJS.ErrnoException;
  // A certificate is no matter of addresses.
  if (code === undefined || failure.code !== 'UNAVAILABLE') return failure;
  const options = ADDRESSED.includes(prefix) ? `${prefix}Address and ${prefix}Port` : `${prefix}Port`;
  const hint = code === 'EADDRINUSE' ? `choose another ${prefix}Port, or 0 for any free one` : `see ${options}`;
  return new TritonError(failure.code, `${failure.message}; ${hint}`, { cause: failure.cause });
}
