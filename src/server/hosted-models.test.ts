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

it('looks at no other models for a load or an unload of one, however many there are', () => {
  const models = new HostedModels({
    logger: SILENT as never,
    tracing: undefined,
    loadFolder: async () => false,
    onMessage: () => undefined,
  });
  const count = 50;
  let looks = 0;
  const add = (i: number) => {
    const config = completeModelConfig({ modelName: `m${i}`, inputs: {}, outputs: {} }, 1);
    const counted = {
      get config() {
        looks++;
        return config;
      },
    };
    return { id: models.add(counted as never), config };
  };
  const added = Array.from({ length: count }, (_, i) => add(i));
  for (const { id, config } of added) expect(models.forget(config, id)).toEqual([]);
  const again = Array.from({ length: count }, (_, i) => add(i));
  for (const { id } of again) models.abandon(id);
  // The old ones stay, because the new ones were to replace them.
  expect(models.all.map(([id]) => id)).toEqual(added.map(({ id }) => id));
  for (const { id, config } of added) expect(models.forget(config)).toEqual([id]);
  expect(models.all).toEqual([]);
  expect(looks).toBeLessThanOrEqual(6 * count);
});
