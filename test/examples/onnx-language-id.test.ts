// examples/onnx-language-id: the model of examples/language-id gives the same answers through onnxruntime.
import { expect, it } from 'vitest';

import { askOnnxLanguageId } from '../../examples/onnx-language-id/client.js';
import { encodeOnnx, readLanguageModel } from '../../examples/onnx-language-id/export.js';
import { bindOnnxLanguageId, MODEL_NAME } from '../../examples/onnx-language-id/server.js';
import { startServer } from '../support/start-server.js';
import { temporaryFolder } from '../support/temporary-files.js';

const file = temporaryFolder();

it('tells every paragraph’s language with the scores of the TypeScript model, and by its label', async () => {
  const path = file('language-id.onnx', encodeOnnx(readLanguageModel()));
  await using server = await startServer((triton) => bindOnnxLanguageId(triton, path));
  for (const url of [server.http, server.grpc]) {
    const { right, total, largestDifference } = await askOnnxLanguageId(url);
    expect(right).toBe(total);
    expect(total).toBeGreaterThan(30);
    expect(largestDifference).toBeLessThan(1e-5);
  }
  const features = new Array<number>(readLanguageModel().ngrams.size).fill(0);
  const response = await fetch(`${server.http}/v2/models/${MODEL_NAME}/infer`, {
    method: 'POST',
    body: JSON.stringify({
      inputs: [{ name: 'features', datatype: 'FP32', shape: [1, features.length], data: features }],
      outputs: [{ name: 'scores', parameters: { classification: 1 } }],
    }),
  });
  const { outputs } = (await response.json()) as { readonly outputs: readonly { readonly data: readonly string[] }[] };
  expect(outputs[0]!.data[0]).toMatch(/^0\.111+\d*:\d:\w\w$/);
});
