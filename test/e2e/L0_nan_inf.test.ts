// Triton's L0_nan_inf, and numbers that JSON knows only by name or by digits: NaN, infinities, signed zeros, 64 bits.
import { describe, expect, it } from 'vitest';

import { Tensor, type Triton } from 'tstriton';
import { ModelClient } from 'tstriton/client';

import { expectAlive, post } from '../support/http-infer.js';
import { bindEchoes, startServer } from '../support/start-server.js';

function bind(triton: Triton): void {
  bindEchoes(triton, ['float32', 'float64', 'int64', 'uint64']);
}

const DATATYPES = { float32: 'FP32', float64: 'FP64', int64: 'INT64', uint64: 'UINT64' } as const;

async function echo(http: string, model: keyof typeof DATATYPES, data: string): Promise<string> {
  const count = data.split(',').length;
  const body = `{"inputs":[{"name":"x","datatype":"${DATATYPES[model]}","shape":[1,${count}],"data":[${data}]}]}`;
  const { status, text } = await post(http, model, body);
  return status === 200 ? /"data":\[(.*?)\]/.exec(text)![1]! : `${status} ${text}`;
}

describe.each([{ serverThread: true }, { serverThread: false }])('L0_nan_inf with %o', (config) => {
  it.each(['float32', 'float64'] as const)('knows NaN, infinities and signed zeros in %s', async (model) => {
    await using server = await startServer(bind, config);
    const values = 'NaN,Infinity,-Infinity,-0.0,0.0';
    expect(await echo(server.http, model, values)).toBe(values);
    expect(await echo(server.http, model, 'Inf,-Inf')).toBe('Infinity,-Infinity');
    const flat = await post(server.http, model, '{"x":[NaN,-Infinity]}', { action: 'generate' });
    expect(flat.text).toContain('"y":[NaN,-Infinity]');
    for (const url of [server.http, server.grpc]) {
      await using client = new ModelClient(url, model);
      const data = [NaN, Infinity, -Infinity, -0];
      const x = model === 'float32' ? Float32Array.from(data) : Float64Array.from(data);
      const { y } = await client.inferSample({ x: new Tensor(model, x as never, [4]) });
      expect([...(y!.data as Float32Array)]).toEqual(data);
    }
  });

  it('keeps all digits of integers and all bits of doubles', async () => {
    await using server = await startServer(bind, config);
    const integers = '9223372036854775807,-9223372036854775808,9007199254740993,-1';
    expect(await echo(server.http, 'int64', integers)).toBe(integers);
    expect(await echo(server.http, 'uint64', '18446744073709551615,0')).toBe('18446744073709551615,0');
    expect(await echo(server.http, 'float64', '5e-324,1.7976931348623157e308,0.1,1e21')).toBe(
      '5e-324,1.7976931348623157e308,0.1,1e21',
    );
  });

  it.each([
    ['float64', '1e400', 'Number too big to be stored in double'],
    ['float32', 'nan', 'Invalid value'],
    ['float32', '-nan', 'Invalid value'],
    ['float32', 'INFINITY', 'Invalid value'],
    ['int64', 'NaN', 'non-signed-integer'],
    ['int64', '9223372036854775808', 'non-signed-integer'],
    ['uint64', '-1', 'non-unsigned-integer'],
    ['uint64', '1.0', 'non-unsigned-integer'],
  ] as const)('refuses in %s %s', async (model, data, reason) => {
    await using server = await startServer(bind, config);
    const answer = await echo(server.http, model, data);
    expect(answer.slice(0, 3)).toBe('400');
    expect(answer).toContain(reason);
    await expectAlive(server.http);
  });
});
