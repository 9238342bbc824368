import { afterEach, describe, expect, it } from 'vitest';

import type { InferenceServer } from '../../core/inference-server.js';
import { InferenceStatistics } from '../../core/statistics.js';
import { MetricsFrontend } from './metrics-frontend.js';
import { prometheusText } from './prometheus-text.js';

function statisticsAfterWork(): InferenceStatistics {
  const statistics = new InferenceStatistics();
  const times = { computeInput: 0.5, computeInfer: 2.0015, computeOutput: 0.25 };
  statistics.recordExecution(3, times);
  statistics.recordSuccess(2, 10, 1, times);
  statistics.recordSuccess(1, 12, 3, times);
  statistics.recordFailure('REJECTED', 5);
  statistics.pending = 4;
  return statistics;
}

describe('the text', () => {
  it('has every family with its help, type and series', () => {
    const labels = 'model="m",version="1"';
    expect(prometheusText([{ name: 'm', version: '1', statistics: statisticsAfterWork() }])).toBe(
      `# HELP nv_inference_request_success Number of successful inference requests, all batch sizes
# TYPE nv_inference_request_success counter
nv_inference_request_success{${labels}} 2
# HELP nv_inference_request_failure Number of failed inference requests, all batch sizes
# TYPE nv_inference_request_failure counter
nv_inference_request_failure{model="m",reason="REJECTED",version="1"} 1
nv_inference_request_failure{model="m",reason="CANCELED",version="1"} 0
nv_inference_request_failure{model="m",reason="BACKEND",version="1"} 0
nv_inference_request_failure{model="m",reason="OTHER",version="1"} 0
# HELP nv_inference_count Number of inferences performed (does not include cached requests)
# TYPE nv_inference_count counter
nv_inference_count{${labels}} 3
# HELP nv_inference_exec_count Number of model executions performed (does not include cached requests)
# TYPE nv_inference_exec_count counter
nv_inference_exec_count{${labels}} 1
# HELP nv_inference_request_duration_us Cumulative inference request duration in microseconds (includes cached requests)
# TYPE nv_inference_request_duration_us counter
nv_inference_request_duration_us{${labels}} 22000
# HELP nv_inference_queue_duration_us Cumulative inference queuing duration in microseconds (includes cached requests)
# TYPE nv_inference_queue_duration_us counter
nv_inference_queue_duration_us{${labels}} 4000
# HELP nv_inference_compute_input_duration_us Cumulative compute input duration in microseconds (does not include cached requests)
# TYPE nv_inference_compute_input_duration_us counter
nv_inference_compute_input_duration_us{${labels}} 1000
# HELP nv_inference_compute_infer_duration_us Cumulative compute inference duration in microseconds (does not include cached requests)
# TYPE nv_inference_compute_infer_duration_us counter
nv_inference_compute_infer_duration_us{${labels}} 4003
# HELP nv_inference_compute_output_duration_us Cumulative inference compute output duration in microseconds (does not include cached requests)
# TYPE nv_inference_compute_output_duration_us counter
nv_inference_compute_output_duration_us{${labels}} 500
# HELP nv_inference_pending_request_count Instantaneous number of pending requests awaiting execution per-model.
# TYPE nv_inference_pending_request_count gauge
nv_inference_pending_request_count{${labels}} 4
`,
    );
  });

  it('has the series of all models under one heading', () => {
    const statistics = new InferenceStatistics();
    const text = prometheusText([
      { name: 'a', version: '1', statistics },
      { name: 'a', version: '2', statistics },
      { name: 'b', version: '1', statistics },
    ]);
    expect(text.match(/^# HELP nv_inference_count /gm)).toHaveLength(1);
    expect(text.match(/^nv_inference_count\{.*/gm)).toEqual([
      'nv_inference_count{model="a",version="1"} 0',
      'nv_inference_count{model="a",version="2"} 0',
      'nv_inference_count{model="b",version="1"} 0',
    ]);
  });

  it('is empty without models', () => {
    expect(prometheusText([])).toBe('');
  });

  it('escapes labels', () => {
    expect(prometheusText([{ name: 'a"\\\n', version: '1', statistics: new InferenceStatistics() }])).toContain(
      '{model="a\\"\\\\\\n",version="1"}',
    );
  });
});

describe('the port', () => {
  let frontend: MetricsFrontend | undefined;
  afterEach(() => frontend?.close());

  async function start(): Promise<string> {
    const nothing = () => undefined;
    const server = { modelReports: () => [{ name: 'm', version: '1', statistics: statisticsAfterWork() }] };
    frontend = new MetricsFrontend({
      server: server as unknown as InferenceServer,
      address: '127.0.0.1',
      port: 0,
      logger: { error: nothing, warn: nothing, info: nothing, verbose: nothing },
    });
    return `http://127.0.0.1:${await frontend.start()}`;
  }

  it.each(['/metrics', '/metrics/', '/metrics?x=1'])('answers GET %s', async (path) => {
    const answer = await fetch((await start()) + path, { headers: { connection: 'close' } });
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/plain; charset=utf-8']);
    expect(await answer.text()).toContain('nv_inference_count{model="m",version="1"} 3\n');
  });

  it.each<[string, string, number]>([
    ['GET', '/', 404],
    ['GET', '/Metrics', 404],
    ['GET', '/metrics/x', 404],
    ['POST', '/metrics', 405],
    ['POST', '/nope', 405],
    ['OPTIONS', '/metrics', 405],
  ])('refuses %s %s with %d', async (method, path, status) => {
    const answer = await fetch((await start()) + path, { method, headers: { connection: 'close' } });
    expect(answer.status).toBe(status);
    expect(await answer.json()).toEqual({ error: status === 404 ? 'Not Found' : 'Method Not Allowed' });
  });

  it('drains', async () => {
    await start();
    frontend!.drain();
    await expect(frontend!.close()).resolves.toBeUndefined();
  });
});
