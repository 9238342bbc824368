import { describe, expect, it } from 'vitest';

import { servedModel } from '../../../test/support/served-models.js';
import { counter, gauge, histogram, type Metric, type SeriesUpdate } from '../../observability/metrics.js';
import { customFamilies } from './custom-families.js';
import type { MeasuredModel } from '../measured-metrics.js';
import { prometheusText } from './prometheus-text.js';

const tokens = counter({ name: 'chat_tokens_total', help: 'Tokens.', labels: ['zone', 'kind'] });

function model(name: string, ...updates: readonly (readonly [Metric, ...SeriesUpdate[]])[]): MeasuredModel {
  const served = servedModel(name);
  for (const [metric, ...series] of updates) served.statistics.custom.apply([{ metric, series }]);
  return served;
}

describe('the metrics that callables record', () => {
  it('are shown by name, their labels sorted with those of the model', () => {
    const a = model(
      'a',
      [tokens, { labels: ['eu', 'prompt'], added: 2 }],
      [histogram({ name: 'chat_length', help: 'Lengths.', buckets: [1] }), { labels: [], added: 3, counts: [1, 1] }],
    );
    const b = model('b', [tokens, { labels: ['us', 'a "b"'], added: 1 }]);
    const { families, problems } = customFamilies([a, b]);
    expect(prometheusText(families)).toBe(`# HELP chat_length Lengths.
# TYPE chat_length histogram
chat_length_count{model="a",version="1"} 2
chat_length_sum{model="a",version="1"} 3
chat_length_bucket{model="a",version="1",le="1"} 1
chat_length_bucket{model="a",version="1",le="+Inf"} 2
# HELP chat_tokens_total Tokens.
# TYPE chat_tokens_total counter
chat_tokens_total{kind="prompt",model="a",version="1",zone="eu"} 2
chat_tokens_total{kind="a \\"b\\"",model="b",version="1",zone="us"} 1
`);
    expect(problems).toEqual([]);
  });

  it('of one name that two models declare in two ways are the first model’s, and a problem to tell of', () => {
    const level = (help: string) => gauge({ name: 'level', help });
    const { families, problems } = customFamilies([
      model('a', [level('One.'), { labels: [], added: 1 }]),
      model('b', [level('Two.'), { labels: [], added: 2 }]),
    ]);
    expect(prometheusText(families)).toBe('# HELP level One.\n# TYPE level gauge\nlevel{model="a",version="1"} 1\n');
    expect(problems).toEqual(["model 'b': metric 'level' is declared otherwise by another model and not shown"]);
  });

  it('come with what a model left out', () => {
    const level = (help: string) => gauge({ name: 'level', help });
    const served = model('a', [level('One.'), { labels: [], added: 1 }], [level('Two.'), { labels: [], added: 2 }]);
    expect(customFamilies([served]).problems).toEqual([
      "model 'a': metric 'level' is declared in two ways; only the first is shown",
    ]);
  });
});
