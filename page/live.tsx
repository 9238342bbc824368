// Charts of the last two minutes.

import type { FiguresJson } from '../src/frontend/page/page-json.js';
import { Chart, type Series } from './chart.js';
import type { History, Point } from './figures.js';
import { duration, percent, rate } from './texts.js';

interface ChartKind {
  readonly title: string;
  readonly series: readonly Series[];
  readonly text: (value: number | null) => string;
  /** Whether there is anything to show. Default: always. */
  readonly isShown?: (points: readonly Point[]) => boolean;
}

const whole = (value: number | null) => (value === null ? '–' : rate(value));

const CHARTS: readonly ChartKind[] = [
  {
    title: 'Requests a second',
    text: whole,
    series: [
      { name: 'answered', of: ({ requests }) => requests },
      { name: 'failed', of: ({ failures }) => failures, isBad: true },
    ],
  },
  {
    title: 'Latency',
    text: duration,
    series: [
      { name: 'p50', of: ({ p50 }) => p50 },
      { name: 'p95', of: ({ p95 }) => p95 },
      { name: 'p99', of: ({ p99 }) => p99 },
    ],
  },
  {
    title: 'In flight',
    text: whole,
    series: [
      { name: 'running', of: ({ running }) => running },
      { name: 'waiting', of: ({ waiting }) => waiting },
    ],
  },
  { title: 'Time in the queue', text: duration, series: [{ name: 'p95', of: ({ queueP95 }) => queueP95 }] },
  {
    title: 'Rows a batch',
    text: (value) => (value === null ? '–' : value.toFixed(1)),
    series: [{ name: 'mean', of: ({ rowsPerBatch }) => rowsPerBatch }],
  },
  { title: 'Instances', text: percent, series: [{ name: 'busy', of: ({ busy }) => busy }] },
  {
    title: 'Response cache',
    text: percent,
    series: [{ name: 'hits', of: ({ cacheHits }) => cacheHits }],
    isShown: (points) => points.some(({ cacheHits }) => cacheHits !== null),
  },
];

export function Live({
  history,
  isWanted,
}: {
  readonly history: History;
  readonly isWanted: (figures: FiguresJson) => boolean;
}) {
  const points = history.points(isWanted);
  const instances = points.at(-1)?.instances ?? 0;
  return (
    <section class="live" aria-label="Live figures">
      {CHARTS.filter(({ isShown }) => isShown?.(points) !== false).map(({ title, series, text }) => (
        <Chart
          key={title}
          title={title === 'Instances' ? `${instances} instance${instances === 1 ? '' : 's'}` : title}
          series={series}
          text={text}
          points={points}
        />
      ))}
    </section>
  );
}
