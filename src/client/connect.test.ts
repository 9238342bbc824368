import { describe, expect, it, vi } from 'vitest';

import { PROTOCOLS, startPlayed, type PlayedCall } from '../../test/support/played-server.js';
import { defineModel } from '../model/callable.js';
import { connect } from './connect.js';

const X = { x: { dtype: 'float32', shape: [-1] } } as const;
const Y = { y: { dtype: 'float32', shape: [-1] } } as const;
const double = defineModel({ modelName: 'Double', inputs: X, outputs: Y });
const half = defineModel({ modelName: 'Half', inputs: X, outputs: Y });

const answer = (call: PlayedCall) => call.answer(call.x.map((value) => 2 * value));

describe.each(PROTOCOLS)('the models of a server over %s', (protocol) => {
  it('have clients by the names that they were given, over connections that they share', async () => {
    await using server = await startPlayed(protocol, answer);
    await using triton = connect(server.url, { double, 'the half': half });
    for (let i = 1; i <= 3; i++) {
      const { y } = await triton.models.double.inferSample([[i]]);
      const { y: other } = await triton.models['the half'].inferSample([[-i]]);
      expect([...y!.data, ...other!.data]).toEqual([2 * i, -2 * i]);
    }
    expect(server.connections).toHaveLength(1);
    expect(Object.keys(triton.models)).toEqual(['double', 'the half']);
  });

  it('wait for their turn together', async () => {
    const held: PlayedCall[] = [];
    await using server = await startPlayed(protocol, (call) => void held.push(call));
    await using triton = connect(server.url, { double, half }, { maxConcurrency: 1, maxQueueSize: 1 });
    const first = triton.models.double.inferSample([[1]]);
    await vi.waitFor(() => expect(held).toHaveLength(1));
    const second = triton.models.half.inferSample([[2]]);
    await expect(triton.models.double.inferSample([[3]])).rejects.toMatchObject({ name: 'TritonQueueFullError' });
    held[0]!.answer();
    expect([...(await first).y!.data]).toEqual([1]);
    await vi.waitFor(() => expect(held).toHaveLength(2));
    held[1]!.answer();
    expect([...(await second).y!.data]).toEqual([2]);
  });

  it('are closed together, and one of them closes nothing of the others', async () => {
    const held: PlayedCall[] = [];
    await using server = await startPlayed(protocol, (call) => void held.push(call));
    const triton = connect(server.url, { double, half });
    const [one, other] = [triton.models.double.inferSample([[1]]), triton.models.half.inferSample([[2]])];
    const outcomes = Promise.allSettled([one, other]);
    await vi.waitFor(() => expect(held).toHaveLength(2));
    await triton.models.double.close();
    await expect(one).rejects.toMatchObject({ code: 'CANCELLED', message: 'ModelClient is closed' });
    await expect(triton.models.double.inferSample([[3]])).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    held.find(({ x }) => x[0] === 2)!.answer();
    expect([...(await other).y!.data]).toEqual([2]);
    const [last] = await Promise.allSettled([triton.models.half.inferSample([[4]]), triton.close()]);
    expect(last).toMatchObject({ reason: { code: 'CANCELLED', message: 'ModelClient is closed' } });
    await outcomes;
    await expect(triton.server.isLive()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await triton.close();
  });

  it('are not asked for after the close, even by a name that is new', async () => {
    await using server = await startPlayed(protocol, answer);
    const triton = connect(server.url);
    await triton.close();
    await expect(triton.model('Double').inferSample([[1]])).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: 'ModelClient is closed',
    });
    expect(server.connections).toHaveLength(0);
  });
});

describe('connect', () => {
  it('gives one client of each name, and connects to nothing yet', async () => {
    await using triton = connect('grpc://127.0.0.1:1');
    expect(triton.model('Any')).toBe(triton.model('Any'));
    expect(triton.model('Any')).not.toBe(triton.model('Other'));
    expect(triton.models).toEqual({});
  });

  it.each<[string, () => unknown, string]>([
    ['an address', () => connect('ftp://h', {}), 'expected one of the schemes'],
    ['options', () => connect('h', {}, { timeout: 3 } as object), "unknown option 'timeout'"],
    ['no options', () => connect('h', {}, 5 as never), 'options of a client must be an object'],
    ['a version', () => connect('h', {}, { modelVersion: 3 } as object), 'modelVersion is an option of one model'],
    ['models', () => connect('h', [] as never), 'models must be an object, got a list'],
    ['a model', () => connect('h', { m: { modelName: '' } as never }), 'Model name cannot be empty'],
  ])('refuses %s that it does not understand', (_, run, message) => {
    expect(run).toThrow(expect.objectContaining({ code: 'INVALID_ARG', message: expect.stringContaining(message) }));
  });
});
