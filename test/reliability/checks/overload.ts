// Twice as many requests as a model can answer, and a short queue: what can be answered is, and the rest is told at once (R9).
import { startServer } from '../../support/start-server.js';
import { atLeast, atMost, crowd, pause, plain, quantile, type Check } from '../check.js';
import { answerAll, ask, clientsOf, echo } from './served.js';

const BATCH = 8;
const BATCH_MS = 20;
const TICK_MS = 5;
/** The same in all requests: others share no batch. */
const VALUES = 4;

export const overload: Check = {
  about: `twice the capacity of a model that takes ${BATCH_MS} ms for ${BATCH} rows, maxQueueSize 16`,
  async run({ isFull }) {
    const seconds = isFull ? 60 : 15;
    const config = { maxBatchSize: BATCH, batcher: { defaultQueuePolicy: { maxQueueSize: 16 } } };
    const inferFunc = async (all: Parameters<typeof answerAll>[0]) => {
      await pause(BATCH_MS);
      return answerAll(all);
    };
    await using server = await startServer((triton) => void triton.bind({ ...echo, config, inferFunc }));
    const clients = clientsOf(server, 4096);
    let end = performance.now() + (seconds * 1000) / 2;
    let answered = 0;
    // As many as fill the next batch while one runs: the queue is never full.
    await crowd(2 * BATCH, Infinity, async (i) => {
      if (performance.now() > end) throw STOP;
      await ask(clients[i % 2]!, i, { size: VALUES });
      answered++;
    }).catch((error: unknown) => {
      if (error !== STOP) throw error;
    });
    const capacity = answered / (seconds / 2);
    await pause(500);

    let good = 0;
    const rejected: number[] = [];
    const other: unknown[] = [];
    const calls = new Set<Promise<void>>();
    const begin = performance.now();
    end = begin + seconds * 1000;
    let sent = 0;
    while (performance.now() < end) {
      const due = ((performance.now() - begin) / 1000) * 2 * capacity;
      for (; sent < due; sent++) {
        const asked = performance.now();
        const call = ask(clients[sent % 2]!, sent, { size: VALUES }).then(
          () => void good++,
          (error: Error) => {
            if (/Exceeds maximum queue size/.test(error.message)) rejected.push(performance.now() - asked);
            else other.push(error);
          },
        );
        calls.add(call);
        void call.finally(() => calls.delete(call));
      }
      await pause(TICK_MS);
    }
    await Promise.all(calls);
    const took = (performance.now() - begin) / 1000;
    await Promise.all(clients.map((client) => client.close()));
    return [
      plain('for', `${seconds} s, ${sent} requests`),
      plain('capacity', `${capacity.toFixed(0)} requests/s`),
      atLeast('goodput, of the capacity', (100 * good) / took / capacity, 95, ' %'),
      atMost(`refused ones (${rejected.length}) were told within, median`, quantile(rejected, 0.5), 5, ' ms'),
      plain('refused ones, p99', `${quantile(rejected, 0.99).toFixed(1)} ms`),
      { what: 'other failures', got: String(other.length), wanted: '0', isMet: other.length === 0 },
    ];
  },
};

const STOP = new Error('over');
