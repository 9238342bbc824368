// The client in all its forms, for what has to be the same in each: over both protocols, and as it is built for browsers, over
// `fetch`.
import * as node from 'tstriton/client';
import * as browser from 'tstriton/client/browser';

import type { RunningServer } from './start-server.js';

export type ClientKind = 'http' | 'grpc' | 'browser';

export interface ClientForm extends Pick<typeof node, 'ModelClient' | 'ServerClient'> {
  /** Whose port it asks. */
  readonly protocol: 'http' | 'grpc';
  at(server: RunningServer): string;
}

export const CLIENTS: Readonly<Record<ClientKind, ClientForm>> = {
  http: { ...node, protocol: 'http', at: ({ http }) => http },
  grpc: { ...node, protocol: 'grpc', at: ({ grpc }) => grpc },
  browser: { ...browser, protocol: 'http', at: ({ http }) => http },
};
export const CLIENT_KINDS = Object.keys(CLIENTS) as ClientKind[];
