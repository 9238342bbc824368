// Everything that a callable can do wrong, ordinary and streaming, in the thread of its server's owner and in one of its own, over both
// wires: its requests fail with a message that says what was wrong, and everybody else is served as before. What becomes of a server
// whose own thread is killed: server-thread-death.test.ts.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

import { defineModel, instanceGroup, type Triton, type TritonConfig } from 'tstriton';
import { ModelClient } from 'tstriton/client';

import { ordinary, streaming } from '../fixtures/faulty-callables.js';
import { startServer } from '../support/start-server.js';
import { temporaryFolder } from '../support/temporary-files.js';

const file = temporaryFolder();

const MODULES = {
  ordinary: new URL('../fixtures/faulty-instance.js', import.meta.url),
  streaming: new URL('../fixtures/faulty-streaming-instance.js', import.meta.url),
};

/** What clients are told, by what the callable does. */
const FAULTS: Readonly<Record<string, RegExp>> = {
  'throws an Error': /^no luck$/,
  'throws a text': /^a text$/,
  'throws nothing': /^undefined was thrown$/,
  'throws null': /^null$/,
  'throws an object': /^\{"reason":42\}$/,
  'throws what cannot be read': /^what was thrown cannot be read$/,
  'returns a number': /^model 'Faulty' returned a number, expected a record of its outputs/,
  'returns no list': /^model 'Faulty' must return a list with one result per request, got no list$/,
  'returns too few results': /^model 'Faulty' returned 0 results for 1 requests/,
  'returns too many results': /^model 'Faulty' returned 2 results for 1 requests/,
  'has an unknown output': /^model 'Faulty' returned an output 'z' that is not declared; declared are y$/,
  'has another dtype': /^output 'y' of model 'Faulty' is an Int32Array, expected/,
  'is ragged': /^output 'y' of model 'Faulty': nested arrays must be rectangular/,
  'has a getter that throws': /^the getter failed$/,
};
/** A stream may have nothing for a request. */
const FAULTS_OF_RESULTS: typeof FAULTS = { 'returns nothing': /^model 'Faulty' returned undefined, expected a record/ };
/** Of threads of their own alone. */
const DEATHS = ['exits its thread', 'throws outside', 'uses up its memory'];
const DIED = /^an instance of model 'Faulty' ended while it was working on the request$/;
const LIMIT = { executionTimeoutMicroseconds: 300_000 };
const TIMED_OUT = /did not answer within its executionTimeoutMicroseconds of 300000$/;

const TENSORS = {
  inputs: { what: { dtype: 'string', shape: [1] } },
  outputs: { y: { dtype: 'string', shape: [1] } },
} as const;

const STREAMS = { batching: false, decoupled: true } as const;

type Kind = keyof typeof MODULES;

function bind(triton: Triton, kind: Kind, isHosted: boolean): void {
  const decoupled = kind === 'streaming';
  const inline = decoupled ? streaming : ordinary;
  const inferFunc = isHosted
    ? instanceGroup(MODULES[kind], { resourceLimits: { maxOldGenerationSizeMb: 32 } })
    : inline;
  const models = { Faulty: {}, Impatient: LIMIT };
  for (const [modelName, more] of Object.entries(models)) {
    const config = { decoupled, batching: false, ...more };
    triton.bind({ ...TENSORS, modelName, inferFunc, config } as Parameters<Triton['bind']>[0]);
  }
  triton.bind({ ...TENSORS, modelName: 'Neighbour', inferFunc: ordinary, config: { batching: false } } as Parameters<
    Triton['bind']
  >[0]);
}

/** The answers of a model, the last of which may be the error that it failed with. */
async function ask(url: string, modelName: string, kind: Kind, what: string): Promise<string[]> {
  const tensors = { modelName, ...TENSORS };
  const one = new ModelClient(url, defineModel({ ...tensors, config: { batching: false } }), { retry: false });
  const many = new ModelClient(url, defineModel({ ...tensors, config: STREAMS }), { retry: false });
  const answers: string[] = [];
  try {
    if (kind === 'ordinary') answers.push((await one.inferSample({ what: [what] })).y!.data[0]!);
    else for await (const { y } of many.streamSample({ what: [what] })) answers.push(y!.data[0]!);
  } catch (error) {
    answers.push((error as Error).message);
  } finally {
    await Promise.all([one.close(), many.close()]);
  }
  return answers;
}

const HOSTS = [true, false].flatMap((serverThread) =>
  [true, false].flatMap((isHosted) =>
    (['ordinary', 'streaming'] as const).map((kind) => ({ serverThread, isHosted, kind })),
  ),
);

describe.each(HOSTS)('a callable with %o', ({ serverThread, isHosted, kind }) => {
  const before = kind === 'streaming' ? ['fine'] : [];
  const fine = [...before, 'fine'];
  const start = (config: TritonConfig = {}) =>
    startServer((triton) => bind(triton, kind, isHosted), { serverThread, ...config });

  it('fails its request alone, and says what was wrong', async () => {
    await using server = await start();
    const faults = Object.entries({ ...FAULTS, ...(kind === 'ordinary' ? FAULTS_OF_RESULTS : {}) });
    for (const url of [server.http, server.grpc]) {
      for (const [what, message] of faults) {
        const [failed, again, neighbour] = await Promise.all([
          ask(url, 'Faulty', kind, what),
          ask(url, 'Faulty', kind, 'fine'),
          ask(url, 'Neighbour', 'ordinary', 'fine'),
        ]);
        expect([...failed.slice(0, -1), again, neighbour], `${what}`).toEqual([...before, fine, ['fine']]);
        expect(failed.at(-1), `${what}`).toMatch(message);
      }
      expect((await fetch(`${server.http}/v2/health/ready`)).status).toBe(200);
    }
  });

  // Of this thread's callables nobody can be rid: each wire has a server of its own.
  it.each(['http', 'grpc'] as const)('that never settles is given up after its time, over %s', async (wire) => {
    await using server = await start();
    const [late, neighbour] = await Promise.all([
      ask(server[wire], 'Impatient', kind, 'never settles'),
      ask(server[wire], 'Neighbour', 'ordinary', 'fine'),
    ]);
    expect(late.slice(0, -1)).toEqual(before);
    expect(late.at(-1)).toMatch(TIMED_OUT);
    expect(neighbour).toEqual(['fine']);
  });

  it.runIf(isHosted)('that ends its thread is started again', async () => {
    await using server = await start();
    for (const [i, what] of DEATHS.entries()) {
      const url = i % 2 === 0 ? server.http : server.grpc;
      const [died, neighbour] = await Promise.all([
        ask(url, 'Faulty', kind, what),
        ask(url, 'Neighbour', 'ordinary', 'fine'),
      ]);
      // Whatever it has answered before that may have been on its way.
      expect(died.at(-1), `${what}`).toMatch(DIED);
      expect(neighbour).toEqual(['fine']);
      await expect.poll(() => ask(url, 'Faulty', kind, 'fine'), { interval: 50 }).toEqual(fine);
    }
  });

  it('that fails says no more than a number with maskErrors: the log has it with the message', async () => {
    const logFile = file('server.log');
    await using server = await start({ maskErrors: true, logFile });
    for (const url of [server.http, server.grpc]) {
      const answers = await ask(url, 'Faulty', kind, 'throws an Error');
      expect(answers.slice(0, -1)).toEqual(before);
      const [, number] = /^internal error ([-0-9a-f]{36})$/.exec(answers.at(-1)!) ?? [];
      expect(number, `${answers.at(-1)}`).toBeDefined();
      await expect
        .poll(() => readFileSync(logFile, 'utf8'))
        .toContain(`internal error ${number}: [request id: <id_unknown>] model 'Faulty': no luck`);
      // What is said on purpose is told.
      expect((await ask(url, 'Faulty', kind, 'blames its client')).at(-1)).toBe('too much of it');
    }
  });
});
