// A model of a running server that a command asks: its signature, as the server tells it, and a client of it.

import { ModelClient } from '../../client/model-client.js';
import { ServerClient } from '../../client/server-client.js';
import type { CliIo } from '../cli-io.js';
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
