// The dashboard in deploy/grafana asks for metrics that the server has, and only for labels that they have.
import { readFileSync } from 'node:fs';

import { beforeAll, describe, expect, it } from 'vitest';

import { stream } from 'tstriton';

import { MetricsText } from '../support/metrics-text.js';
import { inferJson, startServer } from '../support/start-server.js';

interface Panel {
  readonly id: number;
  readonly title: string;
  readonly type: string;
  readonly description?: string;
  readonly gridPos: { readonly h: number; readonly w: number; readonly x: number; readonly y: number };
  readonly targets?: readonly { readonly refId: string; readonly expr: string; readonly legendFormat: string }[];
}

interface Dashboard {
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly { readonly name: string; readonly definition?: string }[] };
}

const dashboard = JSON.parse(
  readFileSync(new URL('../../deploy/grafana/tstriton.json', import.meta.url), 'utf8'),
) as Dashboard;
const charts = dashboard.panels.filter(({ type }) => type !== 'row');

/** A server in which every metric has a series: two kinds of models, a cache, a refused request. */
async function allMetrics(): Promise<MetricsText> {
  const tensors = {
    inputs: { x: { dtype: 'int32', shape: [1] } },
    outputs: { y: { dtype: 'int32', shape: [1] } },
  } as const;
  await using server = await startServer(
    (triton) => {
      triton.bind({ modelName: 'M', ...tensors, inferFunc: (requests) => requests, config: { responseCache: true } });
      const inferFunc = stream(function* () {
        yield {};
      });
      triton.bind({ modelName: 'S', ...tensors, inferFunc: inferFunc as never, config: { decoupled: true } });
    },
    { serverThread: false, responseCacheByteSize: 100_000 },
  );
  await inferJson(server.http, 'M', [{ name: 'wrong', datatype: 'INT32', shape: [1, 1], data: [1] }]);
  return await MetricsText.of(server.metrics);
}

const METRIC = /\b(?:nv|tstriton)_\w+/g;

/** What an expression asks of a metric that is not so. */
function problemsOf(name: string, expression: string, metrics: MetricsText): string[] {
  // Processors and memory are told by Linux only.
  if (name.startsWith('nv_cpu_') && process.platform !== 'linux') return [];
  const samples = metrics.samples.filter((sample) => sample.name === name);
  if (samples.length === 0) return [`there is no ${name}`];
  const labels = new Set(samples.flatMap((sample) => Object.keys(sample.labels)));
  const asked = Array.from(expression.matchAll(/\bby \(([^)]*)\)/g)).flatMap(([, list]) => list!.split(', '));
  if (expression.includes(`${name}{model=`)) asked.push('model');
  const problems = asked.filter((label) => !labels.has(label)).map((label) => `${name} has no label ${label}`);
  const type = metrics.types.get(name) ?? metrics.types.get(name.replace(/_(?:bucket|sum|count)$/, ''));
  const isRate = new RegExp(`(?:rate|increase)\\(${name}\\b`).test(expression);
  // Triton declares these totals as gauges.
  const isTotal = type !== 'gauge' || name.startsWith('nv_cache_num_');
  if (isRate !== isTotal) problems.push(`${name} is a ${type}, and ${isRate ? '' : 'not '}asked for as a rate`);
  return problems;
}

describe('the dashboard', () => {
  let metrics: MetricsText;

  beforeAll(async () => {
    metrics = await allMetrics();
  });

  it.each(charts.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => [title, expr] as const)))(
    '%s asks for what there is: %s',
    (_, expression) => {
      expect(expression.match(METRIC)).not.toBeNull();
      expect(expression.match(METRIC)!.flatMap((name) => problemsOf(name, expression, metrics))).toEqual([]);
    },
  );

  it('lets one choose among jobs, their instances and the models of these', () => {
    const definitions = dashboard.templating.list.map(({ name, definition }) => [name, definition]);
    expect(definitions.slice(1)).toEqual([
      ['job', 'label_values(nv_inference_request_success, job)'],
      ['instance', 'label_values(nv_inference_request_success{job=~"$job"}, instance)'],
      ['model', 'label_values(nv_inference_request_success{job=~"$job",instance=~"$instance"}, model)'],
    ]);
  });

  it.each(charts.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)))(
    'shows the chosen ones alone: %s',
    (expression) => {
      const selectors = expression.match(/\b(?:nv|tstriton)_\w+(?:\{[^}]*\})?/g)!;
      for (const selector of selectors) expect(selector).toContain('job=~"$job",instance=~"$instance"}');
    },
  );

  it('shows every metric of this server', () => {
    const asked = charts.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)).join(' ');
    const own = [...metrics.types.keys()].filter((name) => name.startsWith('tstriton_'));
    expect(own.filter((name) => !asked.includes(name))).toEqual([]);
    expect(own.length).toBeGreaterThan(8);
  });

  it('says of every chart what it shows, and lays none over another', () => {
    expect(charts.filter(({ description }) => !description).map(({ title }) => title)).toEqual([]);
    expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
    const cells = dashboard.panels.flatMap(({ gridPos: { h, w, x, y } }) =>
      Array.from({ length: h * w }, (_, cell) => `${x + (cell % w)},${y + Math.floor(cell / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
  });
});
