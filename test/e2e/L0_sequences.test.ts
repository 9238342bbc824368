// What of Triton's L0_sequence_batcher holds for models without a sequence batcher: they answer, and their callables
// can tell sequences apart. Here a callable keeps the running total of each.
import { describe, expect, it } from 'vitest';

import { batch, Tensor, withInputs, type InferenceRequest, type RequestSequence, type Triton } from 'tstriton';
import { ModelClient, type SequenceOptions } from 'tstriton/client';

import { post } from '../support/http-infer.js';
import { startServer } from '../support/start-server.js';

const INTEGERS = { dtype: 'int32', shape: [1] } as const;
const TEXTS = { dtype: 'string', shape: [1] } as const;

/** As callables see it, in words: a bigint ends in n. */
function inWords(sequence: RequestSequence | undefined): string {
  if (sequence === undefined) return 'none';
  const { id, start, end } = sequence;
  const shown = typeof id === 'bigint' ? `${id}n` : JSON.stringify(id);
  return [shown, start ? 'start' : '', end ? 'end' : ''].filter((word) => word !== '').join(' ');
}

function bind(triton: Triton): void {
  const totals = new Map<string | number | bigint, number>();
  triton.bind({
    modelName: 'running_total',
    inferFunc: (requests) =>
      requests.map(({ inputs: { x }, sequence }) => {
        if (sequence === undefined) return { total: x };
        const before = sequence.start ? 0 : (totals.get(sequence.id) ?? 0);
        const total = before + x.data[0]!;
        if (sequence.end) totals.delete(sequence.id);
        else totals.set(sequence.id, total);
        return { total: new Tensor('int32', Int32Array.of(total), [1, 1]) };
      }),
    inputs: { x: INTEGERS },
    outputs: { total: INTEGERS },
    config: { maxBatchSize: 8 },
  });
  const tell = (requests: readonly InferenceRequest[]) =>
    requests.map(({ sequence }) => ({ seen: new Tensor('string', [inWords(sequence)], [1, 1]) }));
  const told = { inputs: { x: INTEGERS }, outputs: { seen: TEXTS } };
  triton.bind({ modelName: 'seen', inferFunc: tell, ...told });
  triton.bind({
    modelName: 'seen_by_batch',
    inferFunc: batch((_inputs, { requests }) => ({
      seen: new Tensor(
        'string',
        requests.map(({ sequence }) => inWords(sequence)),
        [requests.length, 1],
      ),
    })),
    ...told,
  });
  triton.bind({
    modelName: 'seen_with_other_inputs',
    inferFunc: (requests) => tell(requests.map((request) => withInputs(request, request.inputs))),
    ...told,
  });
}

const X = [{ name: 'x', datatype: 'INT32', shape: [1, 1], data: [1] }];

async function overHttp(http: string, parameters: string, model = 'seen'): Promise<unknown> {
  const body = `{"parameters":${parameters},"inputs":${JSON.stringify(X)}}`;
  const { status, json } = await post(http, model, body);
  return status === 200 ? json.outputs[0]!.data![0] : [status, json.error];
}

describe.each([{ serverThread: true }, { serverThread: false }])('sequences with %o', (config) => {
  it('are told to the callable as the client told them', async () => {
    await using server = await startServer(bind, config);
    const { http } = server;
    expect(await overHttp(http, '{"sequence_id":7,"sequence_start":true}')).toBe('7 start');
    expect(await overHttp(http, '{"sequence_id":"of words","sequence_end":true}')).toBe('"of words" end');
    expect(await overHttp(http, '{"sequence_id":18446744073709551615}')).toBe('18446744073709551615n');
    expect(await overHttp(http, '{"sequence_start":true,"sequence_end":true}')).toBe('0 start end');
    for (const none of ['{}', '{"sequence_id":0}', '{"sequence_id":""}', '{"sequence_start":false,"other":1}']) {
      expect(await overHttp(http, none)).toBe('none');
    }
    for (const model of ['seen_by_batch', 'seen_with_other_inputs']) {
      expect(await overHttp(http, '{"sequence_id":7}', model)).toBe('7');
    }
  });

  it('belong to their own requests of a batch', async () => {
    await using server = await startServer(bind, config);
    const asked = Array.from({ length: 32 }, (_, i) => (i % 3 === 0 ? '{}' : `{"sequence_id":${i}}`));
    const seen = await Promise.all(asked.map((parameters) => overHttp(server.http, parameters, 'seen_by_batch')));
    expect(seen).toEqual(asked.map((_, i) => (i % 3 === 0 ? 'none' : String(i))));
  });

  it('keep their own state in a callable, over both protocols', async () => {
    await using server = await startServer(bind, config);
    for (const [url, ids] of [
      [server.http, [1, 'one']],
      [server.grpc, [2n ** 64n - 1n, 'zwei']],
    ] as const) {
      await using client = new ModelClient(url, 'running_total');
      const add = async (value: number, sequence?: SequenceOptions) => {
        const { total } = await client.inferSample({ x: [value] }, sequence && { sequence });
        return total!.data[0];
      };
      for (const id of ids) expect(await add(10, { id, start: true })).toBe(10);
      for (const id of ids) expect(await add(5, { id })).toBe(15);
      expect(await add(5)).toBe(5);
      for (const id of ids) expect(await add(1, { id, end: true })).toBe(16);
      for (const id of ids) expect(await add(1, { id })).toBe(1);
    }
  });

  it('are told over gRPC, where ids are signed on the wire', async () => {
    await using server = await startServer(bind, config);
    await using client = new ModelClient(server.grpc, 'seen');
    const seen = async (options: object) => (await client.inferSample({ x: [1] }, options))['seen']!.strings()[0];
    expect(await seen({ sequence: { id: 2n ** 63n, start: true } })).toBe('9223372036854775808n start');
    expect(await seen({ parameters: { sequence_id: -7 } })).toBe('18446744073709551609n');
    expect(await seen({ sequence: { id: 'x', end: true } })).toBe('"x" end');
    expect(await seen({})).toBe('none');
  });

  it('are refused where a value has the wrong type', async () => {
    await using server = await startServer(bind, config);
    const notText = "Unable to parse 'sequence_id': attempt to access JSON non-string as string";
    for (const id of ['-1', '1.5', 'true', 'null', '[1]']) {
      expect(await overHttp(server.http, `{"sequence_id":${id}}`)).toEqual([400, notText]);
    }
    expect(await overHttp(server.http, '{"sequence_end":"true"}')).toEqual([
      400,
      "Unable to parse 'sequence_end': attempt to access JSON non-boolean as boolean",
    ]);
    const long = [501, 'string correlation ID cannot be longer than 128 characters'];
    expect(await overHttp(server.http, `{"sequence_id":"${'s'.repeat(129)}"}`)).toEqual(long);
  });
});
