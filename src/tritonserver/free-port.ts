// Chooses ports for tritonserver, which cannot be asked to take a free one.

import { createServer } from 'node:net';

import { TritonError } from '../errors.js';

/** Returns the port, or a free one for 0. Rejects with UNAVAILABLE when it is taken. */
export function freePort(what: string, address: string, port: number): Promise<number> {
  const server = createServer();
  return new Promise((resolve, reject) => {
    server.once('error', (error) =>
      reject(
        new TritonError('UNAVAILABLE', `cannot listen at ${address}:${port} for ${what}: ${error.message}`, {
          cause: error,
        }),
      ),
    );
    server.listen(port, address, () => {
      const { port: free } = server.address() as { readonly port: number };
      server.close(() => resolve(free));
    });
  });
}
