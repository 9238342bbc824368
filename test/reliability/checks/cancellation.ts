// How soon a callable learns that its client is gone, from the client's abort to the event of its signal (R10).
import { defineModel, stream } from 'tstriton';
import { ModelClient } from 'tstriton/client';

import { startServer } from '../../support/start-server.js';
import { atMost, plain, quantile, type Check } from '../check.js';
import { answerAll, echo } from './served.js';

const words = defineModel({
  modelName: 'Words',
  inputs: { x: { dtype: 'float32', shape: [4] } },
  outputs: { i: { dtype: 'int32', shape: [1] } },
  config: { decoupled: true },
});
const WANTED_MS = 10;

function cancellation(serverThread: boolean): Check {
  return {
    about: `a client's abort until the callable's signal, serverThread: ${serverThread}`,
    async run({ isFull }) {
      const times = isFull ? 1000 : 200;
      let began: () => void = () => undefined;
      let told: () => void = () => undefined;
      const follow = (signal: AbortSignal) => {
        began();
        return new Promise<void>((resolve) =>
          signal.addEventListener('abort', () => {
            told();
            resolve();
          }),
        );
      };
      await using server = await startServer(
        (triton) => {
          triton.bind({
            ...echo,
            inferFunc: async (requests) => {
              await follow(requests[0]!.signal);
              return answerAll(requests);
            },
          });
          triton.bind({
            ...words,
            inferFunc: stream(async function* (_, { signal }) {
              yield { i: [[1]] };
              await follow(signal);
            }),
          });
        },
        { serverThread },
      );
      const figures = [plain('how often', times)];
      for (const protocol of ['http', 'grpc'] as const) {
        const client = new ModelClient(server[protocol], echo, { retry: false });
        const streams = new ModelClient(server[protocol], words, { retry: false });
        const ways = {
          unary: async (signal: AbortSignal) =>
            void (await client.inferSample({ x: Float32Array.of(1, 2, 3, 4) }, { signal })),
          streaming: async (signal: AbortSignal) => {
            for await (const _ of streams.streamSample({ x: Float32Array.of(1, 2, 3, 4) }, { signal }));
          },
        };
        for (const [way, call] of Object.entries(ways)) {
          const took: number[] = [];
          for (let i = 0; i < times; i++) {
            const controller = new AbortController();
            const running = new Promise<void>((resolve) => (began = resolve));
            const seen = new Promise<number>((resolve) => (told = () => resolve(performance.now())));
            const ended = call(controller.signal).catch(() => undefined);
            await running;
            const aborted = performance.now();
            controller.abort();
            took.push((await seen) - aborted);
            await ended;
          }
          figures.push(
            atMost(`${protocol}, ${way}: p99`, quantile(took, 0.99), WANTED_MS, ' ms'),
            plain(`${protocol}, ${way}: median`, `${quantile(took, 0.5).toFixed(2)} ms`),
          );
        }
        await Promise.all([client.close(), streams.close()]);
      }
      return figures;
    },
  };
}

export const cancellationWithThread = cancellation(true);
export const cancellationWithoutThread = cancellation(false);
