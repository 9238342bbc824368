// Sends a model its warm-up requests, each as often as it says for every instance, through the same path as any
// other request. On a model of its own over the same instances, so that no statistic or cache knows of it.

import { TritonError, TritonUnrecoverableError } from '../errors.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import type { CompleteWarmup } from '../model/model-warmup.js';
import type { ModelInstance } from './instance/model-instance.js';
import { Model } from './model.js';
import { dynamicBatching } from './scheduler/batch-scheduler.js';

/** Rejects with the code and reason of the first request that failed. */
export async function warmUp(config: CompleteModelConfig, instances: readonly ModelInstance[]): Promise<void> {
  for (const instance of instances) {
    const model = new Model({ ...config, responseCache: false }, dynamicBatching);
    model.addInstance(instance);
    try {
      for (const warmup of config.modelWarmup ?? []) {
        for (let i = 0; i < warmup.count; i++) await send(warmup, model);
      }
    } finally {
      model.stop(new TritonError('UNAVAILABLE', 'warm-up is over'));
    }
  }
}

function send({ name, inputs }: CompleteWarmup, model: Model): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (error: TritonError) => {
      const { code } = error;
      const message = `warm-up '${name}' of model '${model.config.name}' failed: ${error.message}`;
      const options = { cause: error };
      const isUnrecoverable = TritonUnrecoverableError.is(error);
      reject(
        isUnrecoverable ? new TritonUnrecoverableError(message, options) : new TritonError(code, message, options),
      );
    };
    try {
      model.infer(
        {
          modelName: model.config.name,
          modelVersion: '',
          id: `warm-up ${name}`,
          parameters: undefined,
          inputs,
          outputs: [],
          priority: 0,
          timeoutMicroseconds: 0,
        },
        {
          respond: (_response, final) => {
            if (final) resolve();
          },
          complete: resolve,
          fail,
        },
      );
    } catch (error) {
      fail(TritonError.from(error));
    }
  });
}
