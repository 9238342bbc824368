import { mkdtempSync, rmSync } from 'node:fs';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import type {
  ExecutionDone,
  ExecutionRequest,
  ModelInstance,
  ResponseStream,
} from '../core/instance/model-instance.js';
import { TritonError } from '../errors.js';
import type { ModelSpec } from '../model/callable.js';
import { completeModelConfig } from '../model/complete-model.js';
import * as frames from './frame.js';
import { FakeModel } from '../../test/support/fake-model-py.js';
import { InstanceListener } from './instance-listener.js';

const tensor = { dtype: 'int32', shape: [1] } as const;
const configOf = (decoupled: boolean) =>
  completeModelConfig(
    { modelName: 'm', inputs: { x: tensor }, outputs: { y: tensor }, config: { decoupled } } as ModelSpec,
    2,
  );

const logged: string[] = [];
const log = (message: string) => void logged.push(message);
const logger = { error: log, warn: log, info: log, verbose: () => undefined };

let folder: string;
let listener: InstanceListener;
const models: FakeModel[] = [];

beforeEach(async () => {
  logged.length = 0;
  folder = mkdtempSync(join(tmpdir(), 'tstriton-listener-'));
  listener = new InstanceListener(logger);
  await listener.listen({ path: join(folder, 'socket') });
});
afterEach(async () => {
  for (const model of models.splice(0)) model.end();
  await listener.close();
  rmSync(folder, { recursive: true });
});

function connect(): FakeModel {
  const model = new FakeModel(createConnection(join(folder, 'socket')));
  models.push(model);
  return model;
}

/** Of the model of this test. */
let events: string[] = [];

function serve(instances: readonly ModelInstance[], decoupled = false): string {
  const own: string[] = (events = []);
  return listener.add({
    config: configOf(decoupled),
    instances,
    onConnections: (count) => own.push(`connections ${count}`),
    onLost: () => own.push('lost'),
  });
}

async function greet(key: string, instance = 'm_0_0'): Promise<FakeModel> {
  const model = connect();
  model.send({ kind: frames.HELLO, extras: { protocol: frames.PROTOCOL, key, instance } });
  expect((await model.next()).kind).toBe(frames.WELCOME);
  return model;
}

/** Adds to each request; a negative one fails. */
const adding = (more: number): ModelInstance => ({
  execute(batch: readonly ExecutionRequest[], done: ExecutionDone) {
    done(
      batch.map(({ inputs, parameters }) => {
        const value = new DataView(inputs[0]!.bytes.buffer, inputs[0]!.bytes.byteOffset).getInt32(0, true);
        if (value < 0) return { kind: 'error', error: new TritonError('INVALID_ARG', `negative: ${value}`) };
        const bytes = new Uint8Array(Int32Array.of(value + more).buffer);
        return { kind: 'outputs', outputs: [{ name: 'y', datatype: 'INT32', shape: [1, 1], bytes }], parameters };
      }),
      { computeInput: 0, computeInfer: 0, computeOutput: 0 },
    );
    return { cancel: () => undefined };
  },
});

const int32s = (bytes: Uint8Array) => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Array.from({ length: bytes.byteLength / 8 }, (_, i) => view.getInt32(i * 8, true));
};

describe('a connection of model.py', () => {
  it('runs batches on the instance of its number and answers each request for itself', async () => {
    const key = serve([adding(10), adding(20)]);
    const [first, second, third] = await Promise.all(['m_0_0', 'm_0_1', 'm_0_2'].map((name) => greet(key, name)));
    first!.sendBatch(1, [1, -2, 3]);
    second!.sendBatch(7, [5]);
    third!.sendBatch(9, [6]);
    const answer = await first!.next();
    expect([answer.kind, answer.id, answer.count]).toEqual([frames.RESULTS, 1, 3]);
    expect(answer.extras).toEqual({ errors: { 1: ['INVALID_ARG', 'negative: -2'] } });
    expect(int32s(answer.tensors)).toEqual([11, 13]);
    expect(int32s((await second!.next()).tensors)).toEqual([25]);
    expect(int32s((await third!.next()).tensors)).toEqual([16]);
  });

  it('carries integers beyond 2^53 of parameters both ways', async () => {
    const model = await greet(serve([adding(1)]));
    const parameters = [{ big: { int: '9007199254740993' }, text: 'x', yes: true }];
    model.sendBatch(1, [1], { parameters });
    expect((await model.next()).extras).toEqual({ parameters: { 0: parameters[0] } });
  });

  it('streams the answers of a decoupled model before its results', async () => {
    const instance: ModelInstance = {
      execute(batch, done, stream) {
        const { respond, end } = stream as ResponseStream;
        const answer = (value: number) => [
          { name: 'y', datatype: 'INT32' as const, shape: [1, 1], bytes: new Uint8Array(Int32Array.of(value).buffer) },
        ];
        void respond.call(stream, 0, answer(1), undefined);
        void respond.call(stream, 1, answer(2), { final: true });
        end.call(stream, 0, new TritonError('UNAVAILABLE', 'no more'));
        done(
          batch.map(() => ({ kind: 'outputs', outputs: [], parameters: undefined })),
          { computeInput: 0, computeInfer: 0, computeOutput: 0 },
        );
        return { cancel: () => undefined };
      },
    };
    const model = await greet(serve([instance], true));
    model.sendBatch(4, [1, 2]);
    const responses = await model.next();
    expect([responses.kind, responses.id, responses.count]).toEqual([frames.RESPONSES, 4, 3]);
    expect(responses.extras).toEqual({ errors: { 2: ['UNAVAILABLE', 'no more'] } });
    expect(int32s(responses.tensors)).toEqual([1, 2]);
    expect([responses.head[0], responses.head[1]]).toEqual([frames.OUTPUTS, 0]);
    expect((await model.next()).kind).toBe(frames.RESULTS);
  });

  it('cancels the requests that it names, and all when it is gone', async () => {
    const cancelled: number[] = [];
    let told: () => void = () => undefined;
    const instance: ModelInstance = {
      execute: () => ({
        cancel: (index) => {
          cancelled.push(index);
          told();
        },
      }),
    };
    const model = await greet(serve([instance]));
    model.sendBatch(3, [1, 2, 3]);
    const first = new Promise<void>((resolve) => (told = resolve));
    model.send({ kind: frames.CANCEL, id: 3, count: 1, head: [1] });
    await first;
    expect(cancelled).toEqual([1]);
    const all = new Promise<void>((resolve) => (told = () => cancelled.length === 4 && resolve()));
    model.end();
    await all;
    expect(cancelled).toEqual([1, 0, 1, 2]);
    expect(events).toEqual(['connections 1', 'connections 0', 'lost']);
  });

  it('is not lost when it has said goodbye', async () => {
    const model = await greet(serve([adding(1)]));
    const instanceEnded = new Promise<void>((resolve) => {
      const look = () => (events.includes('connections 0') ? resolve() : setImmediate(look));
      look();
    });
    model.send({ kind: frames.GOODBYE });
    model.end();
    await instanceEnded;
    expect(events).toEqual(['connections 1', 'connections 0']);
  });

  it.each([
    ['with a wrong key', { protocol: frames.PROTOCOL, key: 'x' }, 'the model is not bound any more'],
    [
      'of another version',
      { protocol: 99 },
      `model.py speaks version 99, expected ${frames.PROTOCOL}: it is of another version of TSTriton`,
    ],
  ])('is refused %s', async (_, hello, error) => {
    const key = serve([adding(1)]);
    const model = connect();
    model.send({ kind: frames.HELLO, extras: { key, instance: 'm_0_0', ...hello } });
    const answer = await model.next();
    expect([answer.kind, answer.extras]).toEqual([frames.REFUSED, { error }]);
    await model.closed;
    expect(events).toEqual([]);
  });

  it.each<[string, (model: FakeModel) => void, string]>([
    [
      'whose head is too short',
      (model) => model.send({ kind: frames.BATCH, count: 3, head: [3, 1, 1, 4, 0], tensors: [new Uint8Array(4)] }),
      'malformed frame of model.py: its head is too short',
    ],
    [
      'with fewer bytes than its head says',
      (model) => model.send({ kind: frames.BATCH, count: 1, head: [3, 1, 1, 400, 0], tensors: [new Uint8Array(4)] }),
      "malformed frame of model.py: input 'x' is longer than the frame",
    ],
    [
      'of a kind that does not come from it',
      (model) => model.send({ kind: frames.RESULTS }),
      `malformed frame of model.py: frames of kind ${frames.RESULTS} do not come from it`,
    ],
    [
      'with ids for other requests',
      (model) => model.sendBatch(1, [1], { ids: ['a', 'b'] }),
      'malformed frame of model.py: ids has no place for each request',
    ],
  ])('is ended by a batch %s, and others go on', async (_, send, message) => {
    const key = serve([adding(1), adding(2)]);
    const [bad, good] = [await greet(key, 'm_0_0'), await greet(key, 'm_0_1')];
    send(bad);
    await bad.closed;
    expect(logged).toEqual([message]);
    good.sendBatch(1, [40]);
    expect(int32s((await good.next()).tensors)).toEqual([42]);
  });
});
