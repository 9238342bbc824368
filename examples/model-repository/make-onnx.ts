// Writes the ONNX file of the model `colour` into the repository: how red, green and blue a colour is, from its three parts.
//
//   node build/examples/model-repository/make-onnx.js
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { encodeClassifier } from '../onnx-language-id/export.js';
import { whenStarted } from '../when-started.js';

const SURENESS = 8;

/** Into the model repository `repository`. Returns the file's path. */
export function writeColour(repository: string): string {
  const weights = Float32Array.of(SURENESS, 0, 0, 0, SURENESS, 0, 0, 0, SURENESS);
  const folder = join(repository, 'colour', '1');
  mkdirSync(folder, { recursive: true });
  const path = join(folder, 'model.onnx');
  writeFileSync(path, encodeClassifier({ name: 'colour', features: 3, classes: 3, weights }));
  return path;
}

await whenStarted(import.meta.url, async () => {
  console.log(`wrote ${writeColour(process.argv[2] ?? 'examples/model-repository/models')}`);
});
