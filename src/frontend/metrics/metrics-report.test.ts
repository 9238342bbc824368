import { describe, expect, it } from 'vitest';

import { ManualInstance } from '../../../test/support/scheduler-harness.js';
import { InferenceServer } from '../../core/inference-server.js';
import { gauge } from '../../observability/metrics.js';
import { completeModelConfig } from '../../model/complete-model.js';
import { MetricsReport } from './metrics-report.js';

function start(options: { readonly cpu?: boolean } = {}) {
  const warnings: string[] = [];
  const nothing = () => undefined;
  const logger = { error: nothing, warn: (line: string) => void warnings.push(line), info: nothing, verbose: nothing };
  const server = new InferenceServer({ name: 'triton', version: '0', logger, responseCacheByteSize: 1000 });
  const config = completeModelConfig(
    { modelName: 'm', inputs: { x: { dtype: 'int32', shape: [1] } }, outputs: { y: { dtype: 'int32', shape: [1] } } },
    1,
  );
  const entry = server.repository.add(config);
  const report = new MetricsReport({
    server,
    logger,
    counterLatencies: true,
    histogramLatencies: false,
    cpu: options.cpu ?? true,
    intervalMs: 1000,
    connections: () => [['http', 7]],
  });
  return { report, entry, warnings };
}

describe('the report of all metrics', () => {
  it('has those of the server, and those of models from when they are loaded until they are unloaded', async () => {
    const { report, entry } = start();
    const instance = new ManualInstance();
    const shown = () => report.text().includes('nv_inference_count{model="m",version="1"}');
    expect(shown()).toBe(false);
    entry.model.statistics.recordLoad(5);
    entry.serve({ instances: [instance] });
    expect(shown()).toBe(true);
    entry.model.removeInstance(instance);
    expect(shown()).toBe(true);
    await entry.retire();
    expect(shown()).toBe(false);
    const text = report.text();
    expect(text).toContain('nv_cache_util 0\n');
    expect(text).toContain('tstriton_connections{protocol="http"} 7\n');
    expect(text).toContain('# TYPE tstriton_event_loop_lag_seconds histogram\n');
  });

  it.runIf(process.platform === 'linux')('has the machine only when that is allowed', async () => {
    expect(start().report.text()).toContain('nv_cpu_memory_total_bytes ');
    expect(start({ cpu: false }).report.text()).not.toContain('nv_cpu');
  });

  it('tells the log once what it cannot show', async () => {
    const { report, entry, warnings } = start();
    entry.serve({ instances: [new ManualInstance()] });
    const { custom } = entry.model.statistics;
    custom.apply([{ metric: gauge({ name: 'level', help: 'One.' }), series: [{ labels: [], added: 1 }] }]);
    custom.apply([{ metric: gauge({ name: 'level', help: 'Two.' }), series: [{ labels: [], added: 1 }] }]);
    report.text();
    report.text();
    expect(warnings).toEqual(["model 'm': metric 'level' is declared in two ways; only the first is shown"]);
  });
});
