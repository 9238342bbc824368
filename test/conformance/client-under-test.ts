// Our client as the table of calls sees it: what changes when the client is built anew is here, and the table stays.
import { ModelClient } from 'tstriton/client';

import { parseUrl } from '../../src/client/parse-url.js';
import type { Tensor } from '../../src/tensor/tensor.js';

export type Outputs = Readonly<Record<string, Tensor>>;

export interface ClientOptions {
  /** A number, or what is none. */
  readonly version?: unknown;
  readonly timeoutMs?: unknown;
}

export interface CallOptions {
  readonly parameters?: unknown;
  readonly headers?: unknown;
}

/** Inputs are a record by name, or a list in declaration order; values are whatever a user may give. */
export interface ClientUnderTest extends AsyncDisposable {
  inferBatch(inputs: unknown, options?: CallOptions): Promise<Outputs>;
  inferSample(inputs: unknown, options?: CallOptions): Promise<Outputs>;
  close(): Promise<void>;
}

export function openClient(url: string, model: string, { version, timeoutMs }: ClientOptions = {}): ClientUnderTest {
  const client = new ModelClient(url, model, {
    ...(version === undefined ? {} : { modelVersion: version as number }),
    ...(timeoutMs === undefined ? {} : { timeoutMs: timeoutMs as number }),
  });
  return {
    inferBatch: (inputs, options = {}) =>
      client.inferBatch(inputs as never, options as never) as Promise<unknown> as Promise<Outputs>,
    inferSample: (inputs, options = {}) =>
      client.inferSample(inputs as never, options as never) as Promise<unknown> as Promise<Outputs>,
    close: () => client.close(),
    [Symbol.asyncDispose]: () => client.close(),
  };
}

/** Where a client with this URL connects to. */
export function addressOf(url: unknown): { readonly scheme: string; readonly host: string; readonly port: number } {
  const { protocol, tls, host, port } = parseUrl(url);
  return { scheme: tls ? `${protocol}s` : protocol, host, port };
}
