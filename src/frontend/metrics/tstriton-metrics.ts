// Metrics beyond Triton's, under a prefix of their own, in Prometheus' base units.

import { SAMPLING_MS } from './event-loop-lag.js';
import type { MeasuredModel } from '../measured-metrics.js';
import { type HistogramSeries, type MetricFamily, type ValueSeries, modelLabels } from './prometheus-text.js';

export interface ServerWide {
  /** How late the event loop of the server's thread was, in seconds. */
  readonly eventLoopLag: HistogramSeries['histogram'];
  /** Open connections by protocol. */
  readonly connections: readonly (readonly [protocol: string, count: number])[];
}

export function tstritonFamilies(models: readonly MeasuredModel[], server: ServerWide): MetricFamily[] {
  return [
    {
      name: 'tstriton_refused_requests_total',
      help: 'Requests turned away before they were accepted: invalid, or the queue was full.',
      type: 'counter',
      series: models.flatMap(({ config, statistics }) =>
        [...statistics.refusals].map(([code, value]): ValueSeries => {
          const labels = [
            ['code', code],
            ['model', config.name],
            ['version', String(config.version)],
          ] as const;
          return { labels, value };
        }),
      ),
    },
    {
      name: 'tstriton_batches_total',
      help: 'Batches given to instances, by why they were released.',
      type: 'counter',
      series: models.flatMap(({ config, statistics }) =>
        Object.entries(statistics.releases).map(([reason, value]): ValueSeries => {
          const labels = [
            ['model', config.name],
            ['reason', reason],
            ['version', String(config.version)],
          ] as const;
          return { labels, value };
        }),
      ),
    },
    {
      name: 'tstriton_instance_restarts_total',
      help: 'Instances that were started again after their thread had ended.',
      type: 'counter',
      series: values(models, ({ statistics }) => statistics.instanceRestarts),
    },
    {
      name: 'tstriton_instances',
      help: 'Instances that take batches.',
      type: 'gauge',
      series: values(models, ({ instances }) => instances),
    },
    {
      name: 'tstriton_inflight_requests',
      help: 'Requests accepted and not yet answered.',
      type: 'gauge',
      series: values(models, ({ inflight }) => inflight),
    },
    ...sequenceFamilies(models.filter(({ config }) => config.sequenceBatching !== undefined)),
    {
      name: 'tstriton_connections',
      help: 'Open connections.',
      type: 'gauge',
      series: server.connections.map(([protocol, value]) => ({ labels: [['protocol', protocol]], value })),
    },
    histogram(
      'tstriton_request_duration_seconds',
      'Time from the arrival of a request to its answer, of successful requests.',
      models,
      ({ statistics }) => statistics.requestDuration,
    ),
    histogram(
      'tstriton_queue_wait_seconds',
      'Time in the queue, of requests that were executed.',
      models,
      ({ statistics }) => statistics.queueWait,
    ),
    histogram('tstriton_batch_rows', 'Rows of executed batches.', models, ({ statistics }) => statistics.batchRows),
    histogram(
      'tstriton_first_response_seconds',
      'Time from the arrival of a request to its first response, of decoupled models.',
      models.filter(({ config }) => config.decoupled),
      ({ statistics }) => statistics.firstResponse,
    ),
    {
      name: 'tstriton_event_loop_lag_seconds',
      help: `How late the event loop of the server's thread was, sampled every ${SAMPLING_MS} milliseconds.`,
      type: 'histogram',
      series: [{ labels: [], histogram: server.eventLoopLag }],
    },
  ];
}

function values(models: readonly MeasuredModel[], value: (model: MeasuredModel) => number): ValueSeries[] {
  return models.map((model) => ({ labels: modelLabels(model), value: value(model) }));
}

function histogram(
  name: string,
  help: string,
  models: readonly MeasuredModel[],
  of: (model: MeasuredModel) => HistogramSeries['histogram'],
): MetricFamily {
  const series = models.map((model) => ({ labels: modelLabels(model), histogram: of(model) }));
  return { name, help, type: 'histogram', series };
}

/** Metrics of models that batch by sequences; an empty list without such models. */
function sequenceFamilies(models: readonly MeasuredModel[]): MetricFamily[] {
  if (models.length === 0) return [];
  return [
    {
      name: 'tstriton_live_sequences',
      help: 'Sequences that have begun and are not over.',
      type: 'gauge',
      series: values(models, ({ statistics }) => statistics.sequences.live),
    },
    {
      name: 'tstriton_backlogged_sequences',
      help: 'Live sequences that wait for a slot of an instance.',
      type: 'gauge',
      series: values(models, ({ statistics }) => statistics.sequences.backlog),
    },
    {
      name: 'tstriton_expired_sequences_total',
      help: 'Sequences that ended because nothing came for too long, or because their timeout was over.',
      type: 'counter',
      series: values(models, ({ statistics }) => statistics.sequences.expired),
    },
  ];
}
