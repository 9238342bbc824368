// Triton's L0_orca: the load of the endpoint in a header of the answer, from the metrics that a callable records.
import { describe, expect, it } from 'vitest';

import { batch, gauge, type Metrics, stream, type Triton } from 'tstriton';

import { startServer } from '../support/start-server.js';

const BLOCKS = gauge({
  name: 'nv_trt_llm_kv_cache_block_metrics',
  help: 'KV cache block metrics',
  labels: ['kv_cache_block_type'],
});
const NUMBER = { dtype: 'int32', shape: [1] } as const;

function bind(triton: Triton): void {
  const record = (metrics: Metrics, used: number) => {
    metrics.set(BLOCKS, used, { kv_cache_block_type: 'used' });
    metrics.set(BLOCKS, 8, { kv_cache_block_type: 'max' });
    metrics.set(BLOCKS, 64, { kv_cache_block_type: 'tokens_per' });
  };
  triton.bind({
    modelName: 'llm',
    inferFunc: batch(({ x }, { metrics }) => {
      record(metrics, x.data[0]!);
      return { y: x };
    }),
    inputs: { x: NUMBER },
    outputs: { y: NUMBER },
  });
  triton.bind({
    modelName: 'words',
    inferFunc: stream(async function* ({ x }, { metrics }) {
      record(metrics, x.data[0]!);
      await Promise.resolve();
      yield { y: x };
      yield { y: x };
    }),
    inputs: { x: NUMBER },
    outputs: { y: NUMBER },
    config: { batching: false, decoupled: true },
  });
}

function ask(http: string, path: string, body: object, format?: string): Promise<Response> {
  const headers: Record<string, string> = format === undefined ? {} : { 'endpoint-load-metrics-format': format };
  return fetch(`${http}/v2/models/${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
}

const text = (utilization: string) =>
  `TEXT named_metrics.kv_cache_utilization=${utilization}, named_metrics.max_token_capacity=512`;

describe.each([{ serverThread: true }, { serverThread: false }])('L0_orca with %o', (config) => {
  it('tells the load with the answers of infer and generate, as it is at that moment', async () => {
    await using server = await startServer(bind, config);
    const { http } = server;
    const tensor = (value: number) => ({ inputs: [{ name: 'x', datatype: 'INT32', shape: [1, 1], data: [value] }] });
    const answers = [
      await ask(http, 'llm/infer', tensor(2), 'text'),
      await ask(http, 'llm/generate', { x: 4 }, 'json'),
      await ask(http, 'words/generate_stream', { x: 6 }, 'text'),
      await ask(http, 'llm/generate', { x: 8 }, 'text'),
    ];
    expect(answers.map(({ status, headers }) => [status, headers.get('endpoint-load-metrics')])).toEqual([
      [200, text('0.250000')],
      [200, 'JSON {"named_metrics":{"kv_cache_utilization":0.5,"max_token_capacity":512}}'],
      [200, text('0.750000')],
      [200, text('1.000000')],
    ]);
    expect(await answers[2]!.text()).toContain('"y":6');
  });

  it('tells nothing where nobody asks, for another format, or with an error', async () => {
    await using server = await startServer(bind, config);
    const { http } = server;
    await ask(http, 'llm/generate', { x: 1 }, 'json');
    const answers = [
      await ask(http, 'llm/generate', { x: 2 }),
      await ask(http, 'llm/generate', { x: 3 }, 'http'),
      await ask(http, 'llm/generate', { z: 4 }, 'json'),
    ];
    expect(answers.map(({ status, headers }) => [status, headers.get('endpoint-load-metrics')])).toEqual([
      [200, null],
      [200, null],
      [400, null],
    ]);
  });
});
