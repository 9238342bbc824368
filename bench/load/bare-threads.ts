// What two threads are worth on this machine, without a server: the work of the callables suite in one bare worker and in
// two at once. A process of its own, that is told how many and for how long.
// Usage: bare-threads.js <steps>

import { fileURLToPath } from 'node:url';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';

import { work } from '../callables-workload.js';
import { serveControl } from '../control-channel.js';

export interface ThreadsOrder {
  readonly threads: number;
  readonly milliseconds: number;
}

/** Works for about so long; units of work per second. */
function rateOf(steps: number, milliseconds: number): number {
  const begin = performance.now();
  let units = 0;
  while (performance.now() - begin < milliseconds) {
    work(steps);
    units++;
  }
  return (units * 1000) / (performance.now() - begin);
}

if (isMainThread) {
  const steps = Number(process.argv[2]);
  const file = fileURLToPath(import.meta.url);
  const workers = [1, 2].map(() => new Worker(file, { workerData: steps }));
  const ask = (worker: Worker, milliseconds: number): Promise<number> =>
    new Promise((resolve) => {
      worker.once('message', resolve);
      worker.postMessage(milliseconds);
    });
  const measure = async ({ threads, milliseconds }: ThreadsOrder): Promise<number> => {
    const rates = await Promise.all(workers.slice(0, threads).map((worker) => ask(worker, milliseconds)));
    return rates.reduce((sum, rate) => sum + rate, 0);
  };
  serveControl({
    ports: {},
    load: (order) => measure(order as ThreadsOrder),
    stop: async () => {
      await Promise.all(workers.map((worker) => worker.terminate()));
    },
  });
} else {
  parentPort!.on('message', (milliseconds: number) => {
    parentPort!.postMessage(rateOf(workerData as number, milliseconds));
  });
}
