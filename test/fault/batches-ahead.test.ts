// A thread may have been given executions that it has not begun. They are not lost with it, and do not wait for it.
import { describe, expect, it } from 'vitest';

import { defineModel, instanceGroup } from 'tstriton';

import { inferJson, startServer } from '../support/start-server.js';

const MODULE = new URL('../fixtures/held-instance.js', import.meta.url);

const model = defineModel({
  modelName: 'Held',
  inputs: { x: { dtype: 'int32', shape: [1] } },
  outputs: { y: { dtype: 'int32', shape: [1] } },
  config: { batching: false },
});

/** The number that holds its thread. */
const HOLDS = 0;
const NUMBERS = 60;
/** So many that both threads have shown how short they take. */
const FIRST = 40;

describe.each([true, false])('executions given to a thread ahead, with serverThread: %s', (serverThread) => {
  /** A server with two threads, which tells how often each number was executed. */
  async function start() {
    const args = new Int32Array(new SharedArrayBuffer(4 * (3 + FIRST + NUMBERS)));
    const server = await startServer(
      (triton) => triton.bind({ ...model, inferFunc: instanceGroup(MODULE, { count: 2, args: [args, args] }) }),
      { serverThread },
    );
    const ask = async (number: number) => {
      const input = { name: 'x', datatype: 'INT32', shape: [1], data: [number] };
      const { status, outputs } = await inferJson(server.http, model.modelName, [input]);
      return status === 200 ? outputs![0]!.data[0] : status;
    };
    const askAll = (from: number, count: number) => Promise.all(Array.from({ length: count }, (_, i) => ask(from + i)));
    expect(await askAll(1, FIRST)).toEqual(Array.from({ length: FIRST }, (_, i) => -1 - i));
    const say = (word: number) => {
      Atomics.store(args, 0, word);
      Atomics.notify(args, 0);
    };
    /** Resolves when this many threads are held. */
    const held = async (count: number) => {
      await expect.poll(() => args[1]! + args[2]!).toBe(count);
    };
    const executions = () => [...args.subarray(3 + 1 + FIRST)];
    return { server, args, ask, askAll, say, held, executions };
  }
  const answers = Array.from({ length: NUMBERS - 1 }, (_, i) => -1 - FIRST - i);

  it('are run by the other thread while theirs is blocked', async () => {
    const { server, ask, askAll, say, held, executions } = await start();
    await using _ = server;
    const blocked = ask(HOLDS);
    const others = askAll(1 + FIRST, NUMBERS - 1);
    await held(1);
    expect(await others).toEqual(answers);
    say(-1);
    expect(await blocked).toBe(0);
    expect(executions()).toEqual(answers.map(() => 1));
  });

  it('are each run once by another thread when theirs dies', async () => {
    const { server, ask, askAll, say, held, executions } = await start();
    await using _ = server;
    const both = [ask(HOLDS), ask(HOLDS)];
    await held(2);
    const others = askAll(1 + FIRST, NUMBERS - 1);
    // What is asked later than the others has come after them.
    await expect.poll(() => pendingOf(server.metrics)).toBe(NUMBERS - 1);
    say(1);
    expect(await Promise.race(both)).toBe(503);
    say(-1);
    expect((await Promise.all(both)).toSorted((a, b) => Number(a) - Number(b))).toEqual([0, 503]);
    expect(await others).toEqual(answers);
    expect(executions()).toEqual(answers.map(() => 1));
  });
});

/** How many requests wait, those included that a thread was given and has not begun. */
async function pendingOf(metrics: string): Promise<number> {
  const text = await (await fetch(metrics)).text();
  return Number(/^nv_inference_pending_request_count\{[^}]*\} (\d+)$/m.exec(text)![1]);
}
