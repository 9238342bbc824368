import { describe, expect, it } from 'vitest';

import { servedModel } from '../../../test/support/served-models.js';
import { gauge } from '../../observability/metrics.js';
import { endpointLoad } from './endpoint-load.js';

const BLOCKS = gauge({
  name: 'nv_trt_llm_kv_cache_block_metrics',
  help: 'Blocks of the cache.',
  labels: ['kv_cache_block_type', 'zone'],
});

function model(name: string, blocks: Readonly<Record<string, number>>) {
  const served = servedModel(name);
  const series = Object.entries(blocks).map(([type, set]) => ({ labels: [type, 'eu'], set, added: 0 }));
  served.statistics.custom.apply([{ metric: BLOCKS, series }]);
  return served;
}

function ask(format: string | undefined, models: readonly ReturnType<typeof model>[], asked = 'llm') {
  const header = (name: string) => (name === 'endpoint-load-metrics-format' ? format : undefined);
  return endpointLoad({ header })?.({ measure: () => ({ models, cache: undefined }) }, asked);
}

const LLM = model('llm', { used: 3, max: 8, tokens_per: 64, free: 5, fraction: 0.375 });

describe('the load of the endpoint', () => {
  it('has the two formats of Triton', () => {
    expect(ask('text', [LLM])).toEqual([
      'endpoint-load-metrics',
      'TEXT named_metrics.kv_cache_utilization=0.375000, named_metrics.max_token_capacity=512',
    ]);
    expect(ask('json', [LLM])).toEqual([
      'endpoint-load-metrics',
      'JSON {"named_metrics":{"kv_cache_utilization":0.375,"max_token_capacity":512}}',
    ]);
  });

  it.each([
    [{ used: 0, max: 0, tokens_per: 64 }, '0.0', 0],
    [{ used: 8, max: 8, tokens_per: 64 }, '1.0', 512],
    [{ used: 1, max: 3, tokens_per: 1 }, '0.3333333333333333', 3],
  ])('of %j is %s of %i tokens', (blocks, utilization, tokens) => {
    expect(ask('json', [model('llm', blocks)])?.[1]).toBe(
      `JSON {"named_metrics":{"kv_cache_utilization":${utilization},"max_token_capacity":${tokens}}}`,
    );
  });

  it('is not told where nobody asks, or for a format that is not known', () => {
    for (const format of [undefined, '', 'JSON', 'http', 'text, json']) {
      expect(ask(format, [LLM])).toBeUndefined();
    }
  });

  it.each([
    {},
    { used: 1, max: 2 },
    { used: -1, max: 2, tokens_per: 64 },
    { used: 1, max: 2 ** 53, tokens_per: 64 },
    { used: 1, max: Infinity, tokens_per: 64 },
  ])('is not told when the models record %j', (blocks) => {
    expect(ask('text', [model('llm', blocks)])).toEqual([]);
  });

  it('is that of the model which is asked, or of another one that it may be made of', () => {
    const other = model('other', { used: 1, max: 2, tokens_per: 1 });
    expect(ask('text', [other, LLM])?.[1]).toContain('=0.375000');
    expect(ask('text', [other, LLM], 'pipeline')?.[1]).toContain('=0.500000');
  });
});
