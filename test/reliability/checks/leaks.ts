// What is left after many requests, loads and cancellations: memory after garbage collection, of server and clients together in one
// process, and requests that are still under way (R8).
import { startServer } from '../../support/start-server.js';
import { atMost, crowd, memory, plain, quantile, type Check, type Figure } from '../check.js';
import { answerAll, ask, clientsOf, echo } from './served.js';

type DistinctInput = Parameters<typeof answerAll>[0][number] & { readonly signal: AbortSignal };

const CROWD = 32;
const MEGABYTE = 1e6;
const WANTED_MEGABYTES = 5;

/** Memory that is free again stays with the process for a while: a round tells little, the trend of many does. */
const ROUNDS = 10;

async function growth(count: number, work: (count: number) => Promise<void>): Promise<Figure[]> {
  const round = count / ROUNDS;
  await work(round);
  const began = performance.now();
  const heap: number[] = [];
  const resident: number[] = [];
  for (let i = 0; i < ROUNDS; i++) {
    await work(round);
    const now = await memory();
    heap.push(now.heap / MEGABYTE);
    resident.push(now.resident / MEGABYTE);
  }
  const seconds = (performance.now() - began) / 1000;
  const middle = ROUNDS / 2;
  const grown = (values: readonly number[]) =>
    quantile(values.slice(middle), 0.5) - quantile(values.slice(0, middle), 0.5);
  return [
    plain('how often, after a round as warm-up', `${count} in ${ROUNDS} rounds, ${seconds.toFixed(0)} s`),
    atMost(
      'heap and buffers grew by, median of the last five rounds against the first five',
      grown(heap),
      WANTED_MEGABYTES,
      ' MB',
    ),
    atMost('resident memory grew by, the same', grown(resident), WANTED_MEGABYTES, ' MB'),
    plain('resident memory at most', `${Math.max(...resident).toFixed(0)} MB`),
  ];
}

function requests(serverThread: boolean): Check {
  return {
    about: `requests over both wires, serverThread: ${serverThread}`,
    async run({ isFull }) {
      const count = isFull ? 1_000_000 : 100_000;
      await using server = await startServer((triton) => void triton.bind({ ...echo, inferFunc: answerAll }), {
        serverThread,
      });
      const clients = clientsOf(server);
      const work = (times: number) => crowd(CROWD, times, (i) => ask(clients[i % 2]!, i));
      const figures = await growth(count, work);
      await Promise.all(clients.map((client) => client.close()));
      return figures;
    },
  };
}

export const requestsWithThread = requests(true);
export const requestsWithoutThread = requests(false);

export const loads: Check = {
  about: 'loads and unloads by clients',
  async run() {
    await using server = await startServer((triton) => void triton.bind({ ...echo, inferFunc: answerAll }), {
      serverThread: false,
      modelControlMode: 'explicit',
      restrictedEndpoints: [],
      loadModel: '*',
    });
    const control = async (action: string) => {
      const answer = await fetch(`${server.http}/v2/repository/models/Echo/${action}`, { method: 'POST' });
      if (answer.status !== 200) throw new Error(`${action}: ${await answer.text()}`);
      await answer.arrayBuffer();
    };
    const [client, other] = clientsOf(server);
    const figures = await growth(1000, async (times) => {
      for (let i = 0; i < times; i++) {
        await control('unload');
        await control('load');
        await ask(client, i);
      }
    });
    await Promise.all([client.close(), other.close()]);
    return figures;
  },
};

export const cancellations: Check = {
  about: 'clients that go away, queued and running',
  async run({ isFull }) {
    const count = isFull ? 100_000 : 20_000;
    // Runs until all of its clients are gone.
    const inferFunc = async (all: readonly DistinctInput[]) => {
      for (const { signal } of all) {
        if (!signal.aborted) await new Promise((done) => signal.addEventListener('abort', done, { once: true }));
      }
      return answerAll(all);
    };
    await using server = await startServer((triton) => void triton.bind({ ...echo, inferFunc }));
    const clients = clientsOf(server);
    let cancelled = 0;
    const work = (times: number) =>
      crowd(CROWD, times, async (i) => {
        const controller = new AbortController();
        const call = ask(clients[i % 2]!, i, { signal: controller.signal });
        setTimeout(() => controller.abort(), i % 4);
        await call.then(
          () => undefined,
          () => cancelled++,
        );
      });
    const figures = await growth(count, work);
    await Promise.all(clients.map((client) => client.close()));
    return [...figures, plain('of these given up by their clients, warm-up included', cancelled)];
  },
};
