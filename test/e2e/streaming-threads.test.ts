// Streams of models whose callables run in threads of their own.
import { describe, expect, it } from 'vitest';

import { instanceGroup } from 'tstriton';

import { startServer } from '../support/start-server.js';

describe.each([{ serverThread: true }, { serverThread: false }])(
  'streams from a thread with %o',
  ({ serverThread }) => {
    it('end, fail and are cancelled each by itself', async () => {
      const ended = new Int32Array(new SharedArrayBuffer(4));
      await using server = await startServer(
        (triton) =>
          void triton.bind({
            modelName: 'Counter',
            inputs: { x: { dtype: 'int32', shape: [1] } },
            outputs: { y: { dtype: 'int32', shape: [1] } },
            config: { decoupled: true },
            inferFunc: instanceGroup(new URL('../fixtures/streaming-instance.js', import.meta.url), { args: [ended] }),
          }),
        { serverThread },
      );
      const ask = (x: number, signal?: AbortSignal) =>
        fetch(`${server.http}/v2/models/Counter/generate_stream`, {
          method: 'POST',
          body: JSON.stringify({ x }),
          ...(signal && { signal }),
        });
      const hangUp = new AbortController();
      const endless = (await ask(10, hangUp.signal)).body!.getReader();
      expect(new TextDecoder().decode((await endless.read()).value)).toContain('"y":10');
      const failing = (await (await ask(1)).text()).split('\n\n');
      expect(failing.map((event) => /"y":\d+|"error":.*"/.exec(event)?.[0])).toEqual([
        '"y":1',
        '"y":2',
        '"error":"no third for 1"',
        undefined,
      ]);
      expect(Atomics.load(ended, 0)).toBe(1);
      hangUp.abort();
      await expect.poll(() => Atomics.load(ended, 0)).toBe(2);
    });
  },
);
