// Sends a model its warm-up requests, each as often as it says for every instance, through the same path as any
// other request. On a model of its own over the same instances, so that no statistic or cache knows of it.

import { TritonError, TritonUnrecoverableError } from '../errors.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import type { CompleteWarmup } from '../model/model-warmup.js';
import { type DataOf, type Dtype, dtypeOf } from '../tensor/dtype.js';
import { decodeRaw, encodeRaw } from '../tensor/raw.js';
import type { ModelInstance } from './instance/model-instance.js';
import { Model } from './model.js';

/** Rejects with the code and reason of the first request that failed. */
export async function warmUp(config: CompleteModelConfig, instances: readonly ModelInstance[]): Promise<void> {
  // A request that names some inputs only reaches the callable unchanged.
  const inputs = config.inputs.map((input) => ({ ...input, optional: true }));
  for (const instance of instances) {
    const model = new Model({ ...config, responseCache: false, inputs });
    model.addInstance(instance);
    try {
      for (const warmup of config.modelWarmup ?? []) {
        const missing = missingInputs(warmup, config);
        const requests = config.sequenceBatching === undefined ? [warmup] : rowsOf(warmup, config);
        for (let i = 0; i < warmup.count; i++) {
          const sent = requests.map((request, row) => send(request, model, { id: row + 1, missing }));
          await Promise.all(sent);
        }
      }
    } finally {
      model.stop(new TritonError('UNAVAILABLE', 'warm-up is over'));
    }
  }
}

/** Says which inputs a request lacks that clients must send; empty where it has them all. */
function missingInputs({ inputs }: CompleteWarmup, config: CompleteModelConfig): string {
  const given = new Set(inputs.map(({ name }) => name));
  const missing = config.inputs.filter(({ name, optional }) => !optional && !given.has(name));
  return missing.length === 0 ? '' : ` (it has no input ${missing.map(({ name }) => `'${name}'`).join(', ')})`;
}

/** A request of a sequence has one row. For a model that batches by sequences, each row becomes a request. */
function rowsOf(warmup: CompleteWarmup, { maxBatchSize }: CompleteModelConfig): readonly CompleteWarmup[] {
  if (maxBatchSize === 0) return [warmup];
  const rows = warmup.inputs[0]?.shape[0] ?? 1;
  return Array.from({ length: rows }, (_, row) => ({
    ...warmup,
    inputs: warmup.inputs.map(({ name, datatype, shape, bytes }) => {
      const dtype = dtypeOf(datatype);
      const data = decodeRaw(dtype, bytes);
      const length = data.length / rows;
      const own = data.slice(row * length, (row + 1) * length) as DataOf[Dtype];
      return { name, datatype, shape: [1, ...shape.slice(1)], bytes: encodeRaw(dtype, own) };
    }),
  }));
}

/** `id` is that of the request's sequence, which it begins and ends. `missing` follows the text of a failure. */
function send(
  { name, inputs }: CompleteWarmup,
  model: Model,
  { id, missing }: { readonly id: number; readonly missing: string },
): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (error: TritonError) => {
      const { code } = error;
      const message = `warm-up '${name}' of model '${model.config.name}' failed: ${error.message}${missing}`;
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
          ...(model.config.sequenceBatching && { sequence: { id, start: true, end: true } }),
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
