// A model that takes 5 ms and 0.1 ms more for each row of a batch, of at most 32 rows: what a small network on an
// accelerator costs, whose time is not this machine's CPU. Usage: batcher-server.js <true|false>, for `serverThread`.

import { batch } from 'tstriton';

import { BATCH_MS, MAX_ROWS, MODEL, ROW_MS } from '../batcher-workload.js';
import { sleep } from './blocking-sleep.js';
import { measuredServer, serveMeasured, serverThreadFlag } from './measured-server.js';

/** The end of a wait is waited out in a loop, as a timer is not this exact. */
const TIMER_GRAIN_MS = 1.5;

// In its own thread the callable may block, as one that computes does. In the server's thread only one that waits can be measured beside the server.
async function wait(milliseconds: number): Promise<void> {
  const end = performance.now() + milliseconds;
  await new Promise((resolve) => setTimeout(resolve, Math.floor(milliseconds - TIMER_GRAIN_MS)));
  while (performance.now() < end) await new Promise((resolve) => setImmediate(resolve));
}

const isThread = serverThreadFlag();
const triton = measuredServer(isThread);
const spec = {
  modelName: MODEL,
  inputs: { x: { dtype: 'float32', shape: [-1] } },
  outputs: { y: { dtype: 'float32', shape: [-1] } },
  config: { maxBatchSize: MAX_ROWS },
} as const;
const milliseconds = (rows: number): number => BATCH_MS + ROW_MS * rows;
if (isThread) triton.bind({ ...spec, inferFunc: batch(({ x }) => (sleep(milliseconds(x.shape[0]!)), { y: x })) });
else triton.bind({ ...spec, inferFunc: batch(async ({ x }) => (await wait(milliseconds(x.shape[0]!)), { y: x })) });
await serveMeasured(triton);
