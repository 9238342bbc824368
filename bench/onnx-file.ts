// The model's file in a folder of its own, for as long as a process of the onnx suite lives.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { MODEL, modelFile } from './onnx-mlp.js';

/** Writes the file and returns its path; it is gone when the process ends. */
export function writeModelFile(): string {
  const folder = mkdtempSync(join(tmpdir(), 'tstriton-bench-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, `${MODEL}.onnx`);
  writeFileSync(path, modelFile());
  return path;
}
