// A model of a running server that a command asks: its signature, as the server tells it, and a client of it.

import type { ServerClientOptions } from '../../client/client-options.js';
import { ModelClient } from '../../client/model-client.js';
import { ServerClient } from '../../client/server/server-client.js';
import { TritonError } from '../../errors.js';
import type { CliIo } from '../cli-io.js';
import { listModels } from '../list-models.js';
import { describeModel } from '../describe-model.js';
import type { DescribedModel } from '../generate-module.js';
import { accessOptions, type AccessFlags } from '../server-access.js';
import { specOf } from '../spec-of.js';

export interface AskedModel extends AsyncDisposable {
  readonly model: DescribedModel;
  readonly client: ModelClient;
}

interface AskFlags extends AccessFlags {
  readonly modelVersion?: number;
  readonly binary: boolean;
}

/** Rejects with what the server says. `signal` cancels all that is asked. */
export async function askedModel(
  url: string,
  name: string,
  flags: AskFlags,
  {
    io,
    signal,
    maxConcurrency,
  }: { readonly io: CliIo; readonly signal: AbortSignal; readonly maxConcurrency?: number },
): Promise<AskedModel> {
  const { modelVersion } = flags;
  const options = { ...accessOptions(flags, io), signal };
  const server = new ServerClient(url, options);
  let model: DescribedModel;
  try {
    model = await describeModel(server, name, { modelVersion, bytesAs: 'bytes' });
  } catch (error) {
    throw await withModels(error, name, server, url, options);
  } finally {
    await server.close();
  }
  const client = new ModelClient(url, specOf(model), {
    ...options,
    binaryData: flags.binary,
    ...(modelVersion !== undefined && { modelVersion }),
    ...(maxConcurrency !== undefined && { maxConcurrency }),
  });
  return { model, client: client as unknown as ModelClient, [Symbol.asyncDispose]: () => client.close() };
}

/** Names the models of a server without the asked one, where it lists them. */
async function withModels(
  error: unknown,
  name: string,
  server: ServerClient,
  url: string,
  access: ServerClientOptions,
): Promise<unknown> {
  if (!TritonError.is(error) || error.code !== 'NOT_FOUND') return error;
  const names = await listModels(server, url, access).catch((): readonly string[] => []);
  if (names.length === 0 || names.includes(name)) return error;
  const message = `${error.message}; the server has ${names.map((name) => `'${name}'`).join(', ')}`;
  return new TritonError('NOT_FOUND', message, { cause: error });
}
