import { expect, it } from 'vitest';

import { completeModelConfig } from '../../model/complete-model.js';
import type { ModelSpec } from '../../model/callable.js';
import { finishPaced } from '../../pacing/paced-work.js';
import { PlainInputs, type PlainValue } from './plain-input.js';

const TEXT = 'YWJj'.repeat(500_000);

const json = (value: string): PlainValue => {
  const bytes = Buffer.from(JSON.stringify(value));
  return { kind: 'json', value, text: { bytes, start: 0, end: bytes.length } };
};

it.each<[string, ModelSpec['inputs'], PlainValue]>([
  ['a text', { x: { dtype: 'string', shape: [1] } }, json(TEXT)],
  ['base64', { x: { dtype: 'bytes', shape: [1], contentEncoding: 'base64' } }, json(TEXT)],
  ['a file', { x: { dtype: 'bytes', shape: [1] } }, { kind: 'elements', elements: [Buffer.from(TEXT)] }],
])('hands the memory of %s on, so that a long one is not copied for its callable', (_, inputs, given) => {
  const config = completeModelConfig({ modelName: 'm', inputs, outputs: {} }, 1);
  const plain = new PlainInputs(config, 1 << 26);
  const work = plain.add(config.inputs[0]!, given);
  if (work !== undefined) finishPaced(work);
  expect(plain.memory).toEqual([plain.tensors[0]!.bytes.buffer]);
});
