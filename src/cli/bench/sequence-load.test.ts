import { describe, expect, it } from 'vitest';

import type { InferSequence } from '../../client/infer-sequence.js';
import { SequenceLoad } from './sequence-load.js';

/** Sequences that write down what is asked of them, and fail where `fails` says so. */
function recorded(fails: (call: string) => boolean = () => false) {
  const calls: string[] = [];
  let count = 0;
  const tell = async (call: string) => {
    calls.push(call);
    if (fails(call)) throw new Error('no');
  };
  const client = {
    sequence: () => {
      const id = ++count;
      return {
        infer: () => tell(`${id} infer`),
        end: () => tell(`${id} end`),
        [Symbol.asyncDispose]: () => tell(`${id} dispose`),
      } as unknown as InferSequence;
    },
  };
  return { calls, client };
}

describe('a load of sequences', () => {
  it('ends each sequence with its last request, and begins another', async () => {
    const { calls, client } = recorded();
    const load = new SequenceLoad(client, {}, 3);
    for (const sender of [0, 1, 0, 0, 0, 1]) expect(await load.send(sender)).toMatchObject({ answers: 1 });
    expect(calls).toEqual(['1 infer', '2 infer', '1 infer', '1 end', '3 infer', '2 infer']);
    await load.end();
    expect(calls.slice(6).toSorted()).toEqual(['2 dispose', '3 dispose']);
  });

  it('gives up a sequence of which a request has failed', async () => {
    const { calls, client } = recorded((call) => call === '1 infer' || call === '2 end');
    const load = new SequenceLoad(client, {}, 2);
    await expect(load.send(0)).rejects.toThrow('no');
    await load.send(0);
    await expect(load.send(0)).rejects.toThrow('no');
    await load.send(0);
    expect(calls).toEqual(['1 infer', '1 dispose', '2 infer', '2 end', '2 dispose', '3 infer']);
  });

  it('has sequences of a single request', async () => {
    const { calls, client } = recorded();
    const load = new SequenceLoad(client, {}, 1);
    await load.send(0);
    await load.send(0);
    await load.end();
    expect(calls).toEqual(['1 end', '2 end']);
  });
});
