// What a JavaScript program may hand over where an object of options belongs.

import { describe, expect, it } from 'vitest';

import * as tstriton from '../src/index.js';
import { ModelClient, ServerClient } from '../src/client/index.js';
import { SharedMemory } from '../src/client/shared-memory/index.js';
import { inProcess, mockModel } from '../src/testing/index.js';

const WRONG: readonly unknown[] = [null, 42, 'text', [], new Map()];
const SPEC = { dtype: 'int32', shape: [1] } as const;
const MODEL = tstriton.defineModel({ modelName: 'M', inputs: { x: SPEC }, outputs: { y: SPEC } });

const { counter, fillOptionals, firstValue, gauge, groupByValues, histogram, InferenceResponse } = tstriton;
const fn = () => ({});

describe('what is no object of options', () => {
  it.each<[string, (given: never) => unknown]>([
    ['Triton', (given) => new tstriton.Triton(given)],
    ['ServerClient', (given) => new ServerClient('localhost', given)],
    ['ModelClient', (given) => new ModelClient('localhost', 'M', given)],
    ['headers of a client', (headers) => new ServerClient('localhost', { headers })],
    ['SharedMemory', (given) => new SharedMemory('localhost', given)],
    ['InferenceResponse', (given) => new InferenceResponse({}, given)],
    ['counter', (given) => counter(given)],
    ['gauge', (given) => gauge(given)],
    ['histogram', (given) => histogram(given)],
    ['groupByValues', (given) => groupByValues(['x'], fn, given)],
    ['padFn of groupByValues', (padFn) => groupByValues(['x'], fn, { padFn })],
    ['firstValue', (given) => firstValue(['x'], fn, given)],
    ['defaults of fillOptionals', (given) => fillOptionals(given, fn as never)],
    ['mockModel', (given) => mockModel(given, fn as never)],
    ['the answer of mockModel', (given) => mockModel(MODEL, given)],
  ])('is refused by %s with what was got and what was expected', (_, take) => {
    for (const wrong of WRONG) expect(() => take(wrong as never)).toThrow(refusalOf());
  });

  it.each<[string, (server: ServerClient, given: never) => Promise<unknown>]>([
    ['isLive', (server, given) => server.isLive(given)],
    ['isReady', (server, given) => server.isReady(given)],
    ['isModelReady', (server, given) => server.isModelReady('M', given)],
    ['waitForReady', (server, given) => server.waitForReady(given)],
    ['waitForReady for a model', (server, model) => server.waitForReady({ model: notText(model) })],
    ['metadata', (server, given) => server.metadata(given)],
    ['modelMetadata', (server, given) => server.modelMetadata('M', given)],
    ['modelConfig of a name', (server, name) => server.modelConfig(notText(name))],
    ['statistics', (server, given) => server.statistics('M', given)],
    ['repositoryIndex', (server, given) => server.repositoryIndex(given)],
    ['loadModel', (server, given) => server.loadModel('M', given)],
    ['loadModel of files', (server, files) => server.loadModel('M', { files })],
    ['loadModel of a name', (server, name) => server.loadModel(notText(name))],
    ['unloadModel', (server, given) => server.unloadModel('M', given)],
    ['unloadModel of a name', (server, name) => server.unloadModel(notText(name))],
    ['traceSettings', (server, given) => server.traceSettings(given)],
    ['updateTraceSettings', (server, given) => server.updateTraceSettings({}, given)],
    ['updateLogSettings', (server, given) => server.updateLogSettings({}, given)],
    ['systemSharedMemory of a name', (server, name) => server.systemSharedMemory(notText(name))],
  ])('is refused by the ServerClient in %s, before anything is sent', async (_, ask) => {
    await using server = new ServerClient('localhost:1');
    for (const wrong of WRONG) await expect(ask(server, wrong as never)).rejects.toThrow(refusalOf());
  });

  it('is refused where a Triton is expected', async () => {
    for (const wrong of WRONG) await expect(inProcess(wrong as never)).rejects.toThrow(refusalOf());
  });

  it('is refused where a value to pad with is expected', () => {
    for (const wrong of [null, 'text', [], new Map()]) {
      expect(() => tstriton.constantPadder(wrong as never)).toThrow(refusalOf());
    }
  });
});

/** The place of a text has another wrong value instead. */
function notText(given: unknown): never {
  return (typeof given === 'string' ? true : given) as never;
}

function refusalOf(): unknown {
  return expect.objectContaining({
    name: 'TritonError',
    code: 'INVALID_ARG',
    message: expect.stringMatching(
      / (?:must be|takes) an? .*, got (?:null|42|true|"text"|number|string|a string|a list|a Map)$/,
    ),
  });
}
