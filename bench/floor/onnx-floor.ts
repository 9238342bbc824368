// onnxruntime alone: a loop around its `run`, with no server, no wire and no thread. What a server can reach at most
// with the same number of rows per run. It is its own load generator; a run of several rows counts as as many requests.
// Usage: onnx-floor.js <network> <rows>

import { InferenceSession, Tensor } from 'onnxruntime-node';

import { serveControl } from '../control-channel.js';
import { LoadWindow, reportOf } from '../load/load-window.js';
import type { LoadReport } from '../load/load-window.js';
import { writeModelFile } from '../onnx-file.js';
import { networkNamed } from '../onnx-networks.js';
import { checkAnswer } from '../onnx-wire.js';
import { bytesOf } from '../tensor-wire.js';

const network = networkNamed(process.argv[2]);
const rows = Number(process.argv[3]);
if (!Number.isInteger(rows) || rows < 1) throw new Error(`expected a number of rows, got '${process.argv[3]}'`);

const { input, output } = network;
const session = await InferenceSession.create(writeModelFile(network), { intraOpNumThreads: 1 });

async function run(): Promise<void> {
  const values = new Float32Array(rows * input.values.length);
  for (let i = 0; i < rows; i++) values.set(input.values, i * input.values.length);
  const answer = await session.run({ [input.name]: new Tensor('float32', values, [rows, ...input.shape]) });
  const data = answer[output.name]!.data as Float32Array;
  if (data.length !== rows * output.values.length)
    throw new Error(`expected ${rows * output.values.length} values, got ${data.length}`);
  lastAnswer = data;
}
let lastAnswer = output.values;

async function load(order: unknown, notify: (notice: string) => void): Promise<LoadReport> {
  const { seconds, leadInSeconds } = order as { readonly seconds: number; readonly leadInSeconds: number };
  const window = new LoadWindow();
  const runUntil = async (end: number): Promise<void> => {
    while (performance.now() < end) {
      const from = performance.now();
      await run();
      const now = performance.now();
      for (let i = 0; i < rows; i++) window.answered(from, now);
    }
  };
  await runUntil(performance.now() + leadInSeconds * 1000);
  window.begin();
  notify('begin');
  await runUntil(performance.now() + seconds * 1000);
  window.end();
  notify('end');
  checkAnswer(network, bytesOf(lastAnswer));
  return reportOf(window, 0);
}

serveControl({ ports: {}, load, stop: () => session.release() });
