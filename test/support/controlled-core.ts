// The part of an engine without models that control methods read and change, for tests that are about other methods.
import { InferenceServer } from '../../src/core/inference-server.js';
import type { ServedCore } from '../../src/frontend/served-core.js';

const ignore = () => undefined;

export function controlledCore(): Pick<
  ServedCore,
  'models' | 'logSettings' | 'sharedMemory' | 'loadModel' | 'traceSettings' | 'updateTraceSettings' | 'measure'
> {
  const logger = { error: ignore, warn: ignore, info: ignore, verbose: ignore };
  const server = new InferenceServer({ name: 'triton', version: '1', logger });
  return {
    models: server.models,
    logSettings: server.logSettings,
    sharedMemory: server.sharedMemory,
    loadModel: (...load) => server.loadModel(...load),
    traceSettings: (model) => server.traceSettings(model),
    measure: () => server.measure(),
    updateTraceSettings: (...update) => server.updateTraceSettings(...update),
  };
}
