// The models of a model repository, as the server itself tells them once it serves: nobody here has declared them.

import { ServerClient } from '../../client/server/server-client.js';
import { TritonError } from '../../errors.js';
import { describeModel } from '../describe-model.js';
import type { IntroducedModel } from './introduction.js';

const TIMEOUT_MS = 10_000;

export interface OwnServer {
  readonly url: string;
  readonly accessToken: string | undefined;
  /** The authorities that vouch for its certificate, in PEM form. */
  readonly ca: string | undefined;
}

/** Leaves out `known` models: their declarations are at hand. Rejects where the server cannot be asked. */
export async function repositoryModels(
  { url, accessToken, ca }: OwnServer,
  known: ReadonlySet<string>,
): Promise<readonly IntroducedModel[]> {
  const server = new ServerClient(url, {
    timeoutMs: TIMEOUT_MS,
    ...(accessToken !== undefined && { accessToken }),
    ...(ca !== undefined && { tls: { ca } }),
  });
  try {
    const index = await server.repositoryIndex();
    const others = index.filter(({ name }) => !known.has(name));
    const introduced: IntroducedModel[] = [];
    for (const { name, version, state, reason } of others) {
      const versions = others.filter((other) => other.name === name && other.state === 'READY').length;
      const askedVersion = versions > 1 ? Number(version) : undefined;
      const place = { name, version: version === '' ? undefined : Number(version), askedVersion };
      if (state !== 'READY') {
        const failure = reason === '' ? 'it is not loaded' : reason;
        introduced.push({ ...place, inputs: [], maxBatchSize: 0, decoupled: false, failure });
        continue;
      }
      introduced.push(await describedModel(server, place));
    }
    return introduced;
  } finally {
    await server.close();
  }
}

async function describedModel(
  server: ServerClient,
  place: Pick<IntroducedModel, 'name' | 'version' | 'askedVersion'>,
): Promise<IntroducedModel> {
  try {
    const { name, askedVersion: modelVersion } = place;
    const described = await describeModel(server, name, { modelVersion, bytesAs: 'string' });
    return { ...described, ...place, failure: undefined };
  } catch (error) {
    // It was unloaded meanwhile.
    const { message } = TritonError.from(error);
    return { ...place, inputs: [], maxBatchSize: 0, decoupled: false, failure: message };
  }
}
