// V8 walks arrays, maps, strings and promises by short ways, as long as nobody in the process has changed what they are made of. A
// single array with an iterator of its own ends that for all arrays of the process, those of the user included: copies by spreading
// then take ten times as long, those of typed arrays a hundred times.
import { setFlagsFromString } from 'node:v8';
import { expect, it } from 'vitest';

import { batch, sample, stream, Tensor } from 'tstriton';
import { ModelClient } from 'tstriton/client';

import { startServer } from '../support/start-server.js';

// For `%ArrayIteratorProtector()` and its like, which tell whether a short way is still open.
setFlagsFromString('--allow-natives-syntax');

const SHORT_WAYS = ['ArrayIterator', 'ArraySpecies', 'MapIterator', 'PromiseSpecies', 'RegExpSpecies', 'SetIterator', 'StringIterator', 'TypedArraySpecies']; // prettier-ignore

function openWays(): string[] {
  // oxlint-disable-next-line typescript/no-implied-eval, typescript/no-unsafe-call -- a syntax that no compiler knows
  return SHORT_WAYS.filter((name) => new Function(`return %${name}Protector()`)() === true);
}

const row = { dtype: 'float32', shape: [-1] } as const;
const text = { dtype: 'string', shape: [1] } as const;

it('stay open, whatever kinds of models are served and asked', async () => {
  expect(openWays()).toEqual(SHORT_WAYS);
  await using server = await startServer(
    (triton) => {
      triton.bind({
        modelName: 'record',
        inputs: { a: row },
        outputs: { y: row },
        inferFunc: batch(({ a }) => ({ y: a })),
      });
      triton.bind({ modelName: 'list', inputs: [row], outputs: [row], inferFunc: batch(([a]) => [a]) });
      triton.bind({ modelName: 'sample', inputs: [row], outputs: [row], config: { batching: false }, inferFunc: sample(([a]) => [a]) }); // prettier-ignore
      triton.bind({
        modelName: 'stream',
        inputs: { text_input: text },
        outputs: { text_output: text },
        config: { batching: false, decoupled: true },
        inferFunc: stream(async function* ({ text_input }) {
          for (const part of text_input.data[0]!.split(' ')) yield { text_output: Tensor.from('string', [part]) };
        }),
      });
    },
    { serverThread: false },
  );
  for (const url of [server.http, server.grpc]) {
    for (const modelName of ['record', 'list', 'sample']) {
      await using client = new ModelClient(url, modelName);
      const answers = await Promise.all([1, 2, 3].map((value) => client.inferSample(Float32Array.of(value))));
      expect(answers.map((answer) => Object.values(answer)[0]!.data[0])).toEqual([1, 2, 3]);
    }
    await using client = new ModelClient(url, 'stream');
    const parts: string[] = [];
    for await (const { text_output } of client.streamSample({ text_input: ['a b'] }))
      parts.push(String(text_output!.data));
    expect(parts).toHaveLength(2);
  }
  const infer = { inputs: [{ name: 'a', datatype: 'FP32', shape: [1, 2], data: [1, 2] }] };
  for (const [path, body] of [
    ['models/record/infer', infer],
    ['models/stream/generate_stream', { text_input: 'a b' }],
  ] as const) {
    const answer = await fetch(`${server.http}/v2/${path}`, { method: 'POST', body: JSON.stringify(body) });
    await answer.arrayBuffer();
    expect(answer.status).toBe(200);
  }
  expect((await fetch(server.metrics)).status).toBe(200);
  expect(openWays()).toEqual(SHORT_WAYS);
});
