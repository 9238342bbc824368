// The client in all its forms, for what has to be the same in each: over both protocols, as it is built for browsers, over
// `fetch`, and with a server in the same process.
import { Triton, type TritonConfig } from 'tstriton';
import * as node from 'tstriton/client';
import * as browser from 'tstriton/client/browser';
import { inProcess } from 'tstriton/testing';

import { FREE_PORTS, startServer, type RunningServer } from './start-server.js';

export type ClientKind = 'http' | 'grpc' | 'browser' | 'in-process';

export interface ClientForm extends Pick<typeof node, 'ModelClient' | 'ServerClient'> {
  /** Whose port it asks, or would. */
  readonly protocol: 'http' | 'grpc';
  /** Starts a server for it. */
  start(bind: (triton: Triton) => void, config?: TritonConfig): Promise<RunningServer>;
  /** Where it finds a server that was started. */
  at(server: RunningServer): string | node.InProcessServer;
}

const IN_PROCESS = new WeakMap<RunningServer, node.InProcessServer>();

async function startInProcess(bind: (triton: Triton) => void, config: TritonConfig = {}): Promise<RunningServer> {
  const triton = new Triton({ ...FREE_PORTS, ...config });
  bind(triton);
  const running = await inProcess(triton);
  const server = { triton, http: '', grpc: '', metrics: '', [Symbol.asyncDispose]: () => running.stop() };
  IN_PROCESS.set(server, running);
  return server;
}

export const CLIENTS: Readonly<Record<ClientKind, ClientForm>> = {
  http: { ...node, protocol: 'http', start: startServer, at: ({ http }) => http },
  grpc: { ...node, protocol: 'grpc', start: startServer, at: ({ grpc }) => grpc },
  browser: { ...browser, protocol: 'http', start: startServer, at: ({ http }) => http },
  'in-process': { ...node, protocol: 'grpc', start: startInProcess, at: (server) => IN_PROCESS.get(server)! },
};
export const CLIENT_KINDS = Object.keys(CLIENTS) as ClientKind[];
