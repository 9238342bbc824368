import { expect, it, vi } from 'vitest';

import { ManualSource } from '../../test/support/manual-source.js';
import { ManualInstance } from '../../test/support/scheduler-harness.js';
import { readTritonConfig } from '../config/read-triton-config.js';
import { completeModelConfig } from '../model/complete-model.js';
import { Server } from './server.js';
import { serverOptions, withoutPorts } from './server-options.js';
import { ServedModel } from './served-model.js';

const NO_LOG = { onLog: () => undefined };

it('looks at a model for each change of it alone, however many there are', async () => {
  const server = new Server(withoutPorts(serverOptions(readTritonConfig({}, {}))), NO_LOG);
  const looks = vi.spyOn(ServedModel.prototype, 'tell');
  const count = 50;
  const models = Array.from({ length: count }, (_, i) => {
    const config = completeModelConfig({ modelName: `m${i}`, inputs: {}, outputs: {} }, 1);
    const instance = new ManualInstance();
    return { config, instance, source: new ManualSource(instance) };
  });
  await server.start();
  for (const { config, source } of models) await server.load(config, source);
  await server.started();
  expect(models.map(({ source }) => source.readiness.at(-1))).toEqual(models.map(() => true));
  // Some for the changes of a load, whatever else is there.
  expect(looks.mock.calls.length).toBeLessThanOrEqual(6 * count);

  looks.mockClear();
  const { instance, source } = models[7]!;
  source.lose(instance);
  await Promise.resolve();
  expect(source.readiness.at(-1)).toBe(false);
  expect(server.inProcess.core.isReady()).toBe(false);
  source.restart(new ManualInstance());
  await Promise.resolve();
  expect(source.readiness.at(-1)).toBe(true);
  expect(server.inProcess.core.isReady()).toBe(true);
  expect(looks.mock.calls.length).toBe(2);

  looks.mockClear();
  for (const { config } of models) await server.unload(config);
  expect(looks.mock.calls.length).toBeLessThanOrEqual(6 * count);
  await server.stop({ timeoutSecs: 0, delaySecs: 0 } as never);
});
