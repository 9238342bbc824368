// Serves the ONNX file that export.ts writes. Needs onnxruntime-node, which a checkout of TSTriton has.
//
//   node build/examples/onnx-language-id/server.js
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { Triton } from 'tstriton';
import { onnx } from 'tstriton/onnx';

import { LANGUAGES } from '../language-id/model.js';
import { whenStarted } from '../when-started.js';
import { encodeOnnx, readLanguageModel } from './export.js';

export const MODEL_NAME = 'OnnxLanguageId';

/** Names, dtypes and shapes are the file's; the labels, which ONNX has no place for, are added. */
export function bindOnnxLanguageId(triton: Triton, path: string): void {
  const model = onnx(path, {
    modelName: MODEL_NAME,
    config: { maxBatchSize: 32, batcher: { maxQueueDelayMicroseconds: 2000 } },
  });
  triton.bind({ ...model, outputs: model.outputs.map((output) => ({ ...output, labels: LANGUAGES })) });
}

await whenStarted(import.meta.url, async () => {
  const path = fileURLToPath(new URL('language-id.onnx', import.meta.url));
  writeFileSync(path, encodeOnnx(readLanguageModel()));
  const triton = new Triton();
  bindOnnxLanguageId(triton, path);
  await triton.serve();
});
