// A process that binds models to the server of another one, played by this process: `await using remote = …`.

import { RemoteTriton, type TstritonServerOptions, type TritonConfig } from 'tstriton';

import type { RunningServer } from './start-server.js';

export const REMOTE_TOKEN = 'let me bind';
export const REMOTE: TritonConfig = { remoteAccessToken: REMOTE_TOKEN };

/** A log that nobody reads. */
export const SILENT = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
} as const;

/** Not connected yet. */
export function remoteOf(
  { grpc }: Pick<RunningServer, 'grpc'>,
  options: Partial<TstritonServerOptions> = {},
): RemoteTriton {
  return new RemoteTriton(grpc, { accessToken: REMOTE_TOKEN, logger: SILENT, ...options });
}

/** Binds models and connects. */
export async function connectRemote(
  server: Pick<RunningServer, 'grpc'>,
  bind: (remote: RemoteTriton) => void,
  options: Partial<TstritonServerOptions> = {},
): Promise<RemoteTriton> {
  const remote = remoteOf(server, options);
  bind(remote);
  await remote.connect();
  return remote;
}
