// A server without models of its own: other processes bind theirs to it.
//
//   REMOTE_TOKEN=secret node build/examples/remote/server.js
import { Triton, type TritonConfig, TritonError } from 'tstriton';

import { whenStarted } from '../when-started.js';

export function remoteServer(remoteAccessToken: string, config: TritonConfig = {}): Triton {
  return new Triton({ remoteAccessToken, ...config });
}

await whenStarted(import.meta.url, async () => {
  const token = process.env['REMOTE_TOKEN'];
  if (token === undefined) throw new TritonError('INVALID_ARG', 'the variable REMOTE_TOKEN is not set');
  await remoteServer(token).serve();
});
