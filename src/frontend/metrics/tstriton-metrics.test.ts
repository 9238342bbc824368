import { describe, expect, it } from 'vitest';

import { familyLines, servedModel, statisticsAfterWork } from '../../../test/support/served-models.js';
import { Histogram } from '../../core/metrics/histogram.js';
import { prometheusText } from './prometheus-text.js';
import type { MeasuredModel } from '../measured-metrics.js';
import { tstritonFamilies } from './tstriton-metrics.js';

function text(models: readonly MeasuredModel[]): string {
  const eventLoopLag = new Histogram([0.01]);
  eventLoopLag.observe(0.5);
  return prometheusText(tstritonFamilies(models, { eventLoopLag, connections: [['http', 2], ['grpc', 0]] })); // prettier-ignore
}

describe('the metrics beyond those of Triton', () => {
  const written = text([servedModel('m', { decoupled: true, statistics: statisticsAfterWork() })]);

  it.each<[string, readonly string[]]>([
    ['tstriton_refused_requests_total', ['{code="INVALID_ARG",model="m",version="1"} 1']],
    [
      'tstriton_batches_total',
      ['full', 'preferred', 'delay', 'idle', 'shape', 'single'].map(
        (reason) => `{model="m",reason="${reason}",version="1"} ${reason === 'full' ? 1 : 0}`,
      ),
    ],
    ['tstriton_instance_restarts_total', ['{model="m",version="1"} 0']],
    ['tstriton_instances', ['{model="m",version="1"} 2']],
    ['tstriton_inflight_requests', ['{model="m",version="1"} 3']],
    ['tstriton_connections', ['{protocol="http"} 2', '{protocol="grpc"} 0']],
  ])('tell %s', (name, series) => {
    const [help, type, ...lines] = familyLines(written, name);
    expect(help).toMatch(new RegExp(`^# HELP ${name} [A-Z].*\\.$`));
    expect(type).toBe(`# TYPE ${name} ${name.endsWith('_total') ? 'counter' : 'gauge'}`);
    expect(lines).toEqual(series.map((line) => name + line));
  });

  it.each<[string, number, number]>([
    ['tstriton_request_duration_seconds', 2, 0.022],
    ['tstriton_queue_wait_seconds', 2, 0.004],
    ['tstriton_batch_rows', 1, 3],
    ['tstriton_first_response_seconds', 0, 0],
  ])('tell %s as a histogram', (name, count, sum) => {
    const [, type, counted, summed, ...buckets] = familyLines(written, name);
    expect([type, counted, summed]).toEqual([
      `# TYPE ${name} histogram`,
      `${name}_count{model="m",version="1"} ${count}`,
      `${name}_sum{model="m",version="1"} ${sum}`,
    ]);
    expect(buckets.at(-1)).toBe(`${name}_bucket{model="m",version="1",le="+Inf"} ${count}`);
    expect(buckets.length).toBeGreaterThan(10);
  });

  it("keep to Prometheus' conventions: base units, no types in names, `_total` for counters and for nothing else", () => {
    const wrong =
      /_(?:ms|us|ns|s|secs|msec|milliseconds|microseconds|kb|mb|count|sum|bucket|counter|gauge|histogram|summary)(?:_|$)/;
    const unusual = Array.from(written.matchAll(/^# TYPE (\S+) (\S+)$/gm)).filter(([, name = '', type]) => {
      const isCounter = type === 'counter';
      return !/^tstriton_[a-z]+(?:_[a-z]+)*$/.test(name) || name.endsWith('_total') !== isCounter || wrong.test(name);
    });
    expect(unusual).toEqual([]);
  });

  it('have round bounds in seconds', () => {
    const bounds = Array.from(
      written.matchAll(/^tstriton_queue_wait_seconds_bucket\{.*le="([^"]+)"/gm),
      ([, le]) => le,
    );
    expect(bounds.join(' ')).toBe(
      '0.0001 0.0002 0.0005 0.001 0.002 0.005 0.01 0.02 0.05 0.1 0.2 0.5 1 2 5 10 20 50 +Inf',
    );
  });

  it("tell the lag of the server's event loop", () => {
    expect(familyLines(written, 'tstriton_event_loop_lag_seconds').slice(2)).toEqual([
      'tstriton_event_loop_lag_seconds_count 1',
      'tstriton_event_loop_lag_seconds_sum 0.5',
      'tstriton_event_loop_lag_seconds_bucket{le="0.01"} 0',
      'tstriton_event_loop_lag_seconds_bucket{le="+Inf"} 1',
    ]);
  });

  it('tell the time to the first response of decoupled models only', () => {
    expect(text([servedModel('plain')])).not.toContain('first_response');
  });
});
