import { expect, it } from 'vitest';

import { SILENT } from '../core/engine-logger.js';
import { hostedCallable } from '../host/callable-turns.js';
import { completeModelConfig } from '../model/complete-model.js';
import type { HostReply } from './control-messages.js';
import { HostedModels } from './hosted-models.js';

it('notices each message to a callable of this thread', async () => {
  let notice: () => void = () => undefined;
  const models = new HostedModels({
    logger: SILENT as never,
    tracing: undefined,
    loadFolder: async () => false,
    onMessage: () => notice(),
  });
  const config = completeModelConfig({ modelName: 'm', inputs: {}, outputs: {} }, 1);
  const callables = [hostedCallable(() => [], 1)];
  const model = models.add({ config, open: async () => ({ config, callables, threads: [] }) } as never);
  const replies: HostReply[] = [];
  const worker = { isOver: false, reply: (reply: HostReply) => replies.push(reply) };
  const action = { kind: 'open', model, opening: 1, config: undefined } as const;
  await models.host({ kind: 'host', id: 0, action }, worker as never);
  const { port } = replies[0]!.ports[0]!;
  for (let i = 0; i < 2; i++) {
    const noticed = new Promise<void>((resolve) => (notice = resolve));
    // No message that a host knows.
    port.postMessage(['anything']);
    await expect(noticed).resolves.toBeUndefined();
  }
  models.closeHosts();
});
