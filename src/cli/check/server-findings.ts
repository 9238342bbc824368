// What a running server says of itself.

import type { ServerClientOptions } from '../../client/client-options.js';
import { ServerClient } from '../../client/server/server-client.js';
import { TritonError } from '../../errors.js';
import { listModels } from '../list-models.js';
import { findingOf, type Finding } from './finding.js';

/** Throws INVALID_ARG when `url` is not a URL. */
export async function serverFindings(url: string, options: ServerClientOptions): Promise<readonly Finding[]> {
  const server = new ServerClient(url, options);
  try {
    const live = await findingOf('live', async () => {
      if (await server.isLive()) return 'yes';
      throw new Error('no');
    });
    if (live.status === 'failed') return [live];
    const ready = await findingOf('ready', async () => {
      if (await server.isReady()) return 'yes';
      throw new Error('no: a model is not, or the server starts or ends');
    });
    const metadata = await findingOf('metadata', async () => {
      const { name, version, extensions } = await server.metadata();
      return `${name} ${version}, ${extensions.length} extensions`;
    });
    return [live, ready, metadata, ...(await modelFindings(server, url, options))];
  } finally {
    await server.close();
  }
}

async function modelFindings(
  server: ServerClient,
  url: string,
  options: ServerClientOptions,
): Promise<readonly Finding[]> {
  try {
    const models = await server.repositoryIndex();
    return models.map(({ name, version, state, reason }) => ({
      name: `${name} ${version}`.trim(),
      status: state === 'READY' ? 'ok' : 'failed',
      text: `${state || 'not loaded'}${reason === '' ? '' : `: ${reason}`}`,
    }));
  } catch (error) {
    // By default only clients with the token may ask for states and reasons.
    const names = await listModels(server, url, options).catch(() => undefined);
    if (names === undefined) return [{ name: 'models', status: 'told', text: TritonError.from(error).message }];
    return [{ name: 'models', status: 'ok', text: names.length === 0 ? 'none is ready' : `${names.join(', ')} ready` }];
  }
}
