// Our client as the table of calls sees it: what changes when the client is built anew is here, and the table stays.
import { ModelClient, ServerClient } from 'tstriton/client';

import { parseUrl } from '../../src/client/parse-url.js';
import type { Tensor } from '../../src/tensor/tensor.js';

export type Outputs = Readonly<Record<string, Tensor>>;

export interface ClientOptions {
  /** A number, or what is none. */
  readonly version?: unknown;
  readonly timeoutMs?: unknown;
  readonly accessToken?: unknown;
  readonly maxConcurrency?: number;
  readonly maxQueueSize?: number;
}

export interface CallOptions {
  readonly parameters?: unknown;
  readonly headers?: unknown;
}

/** Inputs are a record by name, or a list in declaration order; values are whatever a user may give. */
export interface ClientUnderTest extends AsyncDisposable {
  inferBatch(inputs: unknown, options?: CallOptions): Promise<Outputs>;
  inferSample(inputs: unknown, options?: CallOptions): Promise<Outputs>;
  /** All answers of a stream. */
  streamBatch(inputs: unknown, options?: CallOptions): Promise<readonly Outputs[]>;
  streamSample(inputs: unknown, options?: CallOptions): Promise<readonly Outputs[]>;
  /** Two streams at once: all answers of both. */
  streamTwice(inputs: unknown): Promise<readonly Outputs[]>;
  close(): Promise<void>;
}

export function openClient(
  url: string,
  model: string,
  { version, timeoutMs, accessToken, ...limits }: ClientOptions = {},
): ClientUnderTest {
  const client = new ModelClient(url, model, {
    ...limits,
    ...(version === undefined ? {} : { modelVersion: version as number }),
    ...(timeoutMs === undefined ? {} : { timeoutMs: timeoutMs as number }),
    ...(accessToken === undefined ? {} : { accessToken: accessToken as string }),
  });
  return {
    inferBatch: (inputs, options = {}) =>
      client.inferBatch(inputs as never, options as never) as Promise<unknown> as Promise<Outputs>,
    inferSample: (inputs, options = {}) =>
      client.inferSample(inputs as never, options as never) as Promise<unknown> as Promise<Outputs>,
    streamBatch: (inputs, options = {}) => collect(client.streamBatch(inputs as never, options as never)),
    streamSample: (inputs, options = {}) => collect(client.streamSample(inputs as never, options as never)),
    async streamTwice(inputs) {
      const streams = [client.streamSample(inputs as never), client.streamSample(inputs as never)];
      const firsts = await Promise.all(streams.map((stream) => stream.next()));
      const rests = await Promise.all(streams.map((stream) => collect(stream)));
      return rests.flatMap((rest, index) => [firsts[index]!.value as unknown as Outputs, ...rest]);
    },
    close: () => client.close(),
    [Symbol.asyncDispose]: () => client.close(),
  };
}

async function collect(stream: AsyncIterable<unknown>): Promise<readonly Outputs[]> {
  const answers: Outputs[] = [];
  for await (const answer of stream) answers.push(answer as Outputs);
  return answers;
}

/** Waits for a model that a server has not. */
export async function waitForModel(url: string, model: string, timeoutMs: number): Promise<void> {
  await using server = new ServerClient(url);
  await server.waitForReady({ model, timeoutMs });
}

/** Loads a model with a token, or without. */
export async function loadModel(url: string, model: string, accessToken?: string): Promise<void> {
  await using server = new ServerClient(url, accessToken === undefined ? {} : { accessToken });
  await server.loadModel(model);
}

/** Where a client with this URL connects to. */
export function addressOf(url: unknown): { readonly scheme: string; readonly host: string; readonly port: number } {
  const { protocol, tls, host, port } = parseUrl(url);
  return { scheme: tls ? `${protocol}s` : protocol, host, port };
}
