import { expect, it } from 'vitest';

import { completeModelConfig } from '../../model/complete-model.js';
import type { ModelInferRequest } from '../../model/exchange.js';
import type { ServedCore } from '../served-core.js';
import { startOpenAi } from './openai-inference.js';

it('hands the memory of a recording on, so that it is not copied for its callable', async () => {
  const inputs = { audio: { dtype: 'bytes', shape: [1] }, options: { dtype: 'string', shape: [1] } } as const;
  const config = completeModelConfig(
    { modelName: 'm', inputs, outputs: { text: { dtype: 'string', shape: [1] } }, openai: 'transcriptions' },
    1,
  );
  const headers = { header: () => undefined, rawHeaders: [] };
  const texts = { audio: [Buffer.alloc(1 << 21)], options: [Buffer.from('{}')] };
  const request = await new Promise<ModelInferRequest>((resolve, reject) => {
    const server = { resolve: () => ({ config, load: 1, isServed: true }), infer: resolve } as unknown as ServedCore;
    const sink = { respond: () => undefined, complete: () => undefined, fail: reject };
    startOpenAi({ model: 'm', endpoint: 'transcriptions', texts }, { server, headers, sink });
  });
  expect(request.memory).toEqual([request.inputs[0]!.bytes.buffer]);
});
