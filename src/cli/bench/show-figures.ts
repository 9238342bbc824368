// The figures of a load, for a person and as JSON.

import { inOneLine, type Style } from '../style.js';
import type { LatencyHistogram } from './latency-histogram.js';
import type { LoadFigures } from './run-load.js';

export interface MeasuredLoad {
  readonly url: string;
  readonly model: string;
  readonly concurrency: number;
  /** Of a request. */
  readonly rows: number;
  /** Requests of a sequence; undefined for a load without sequences. */
  readonly sequenceLength?: number | undefined;
  readonly figures: LoadFigures;
}

const PERCENTILES = [0.5, 0.9, 0.95, 0.99, 0.999] as const;
const CLASSES = 14;
const BAR = 40;

export function showFigures(load: MeasuredLoad, style: Style): string {
  const { url, model, concurrency, rows, sequenceLength, figures } = load;
  const each = sequenceLength === undefined ? '' : ` sequences of ${sequenceLength} requests`;
  const { requests, answers, seconds, failed, failures, latency, first } = figures;
  const rate = (count: number) => (seconds > 0 ? `${grouped(count / seconds)}/s` : '–');
  const lines = [
    `${style('bold', model)} at ${url}, ${concurrency}${each} at a time${rows > 1 ? `, ${rows} rows each` : ''}`,
    '',
    row('requests', `${grouped(requests)} in ${seconds.toFixed(1)} s, ${style('green', rate(requests))}`),
    ...(rows > 1 ? [row('rows', rate(requests * rows))] : []),
    ...(answers !== requests ? [row('answers', `${grouped(answers)}, ${rate(answers)}`)] : []),
    ...(failed > 0 ? [row('failed', style('red', grouped(failed)))] : []),
    ...Array.from(failures, ([message, count]) => row('', style('red', `${grouped(count)} × ${inOneLine(message)}`))),
  ];
  if (requests === 0) return `${lines.join('\n')}\n`;
  lines.push(row('latency', percentilesText(latency)));
  if (first.count > 0) lines.push(row('first', percentilesText(first)));
  return `${[...lines, '', ...histogramLines(latency, style)].join('\n')}\n`;
}

function row(name: string, text: string): string {
  return `  ${name.padEnd(9)} ${text}`;
}

function percentilesText(latency: LatencyHistogram): string {
  const parts = PERCENTILES.map((share) => `p${trimmed(share * 100)} ${duration(latency.percentile(share))}`);
  return [`mean ${duration(latency.mean)}`, ...parts, `max ${duration(latency.most)}`].join('   ');
}

function histogramLines(latency: LatencyHistogram, style: Style): readonly string[] {
  const classes = latency.classes(CLASSES);
  const most = Math.max(...classes.map(({ count }) => count));
  const labels = classes.map(({ from, to }) => `${duration(from)} – ${duration(to)}`);
  const width = Math.max(...labels.map(({ length }) => length));
  return classes.map(({ count }, index) => {
    const share = `${((100 * count) / latency.count).toFixed(1)} %`;
    return `  ${labels[index]!.padStart(width)}  ${style('cyan', bar(count / most).padEnd(BAR))} ${share.padStart(7)}`;
  });
}

const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];

/** A share above 0 is always visible, however small. */
function bar(share: number): string {
  const eighths = share === 0 ? 0 : Math.max(1, Math.round(share * BAR * 8));
  return '█'.repeat(Math.floor(eighths / 8)) + EIGHTHS[eighths % 8]!;
}

/** Three digits. */
export function duration(milliseconds: number): string {
  const [value, unit] =
    milliseconds < 1
      ? [milliseconds * 1000, 'µs']
      : milliseconds < 1000
        ? [milliseconds, 'ms']
        : [milliseconds / 1000, 's'];
  return `${value < 10 ? value.toFixed(2) : value < 100 ? value.toFixed(1) : value.toFixed(0)} ${unit}`;
}

function trimmed(value: number): string {
  return String(Number(value.toFixed(3)));
}

function grouped(value: number): string {
  const digits = value < 100 ? Number(value.toFixed(1)) : Math.round(value);
  return String(digits).replace(/\B(?=(\d{3})+$)/g, ' ');
}

/** Durations are in milliseconds. */
export function jsonFigures({ url, model, concurrency, rows, sequenceLength, figures }: MeasuredLoad): object {
  const { requests, answers, seconds, failed, failures, latency, first } = figures;
  return {
    url,
    model,
    concurrency,
    rows,
    ...(sequenceLength !== undefined && { sequenceLength }),
    seconds: rounded(seconds),
    requests,
    answers,
    failed,
    requestsPerSecond: seconds > 0 ? rounded(requests / seconds) : 0,
    ...(requests > 0 && { latencyMs: jsonLatency(latency) }),
    ...(first.count > 0 && { firstAnswerMs: jsonLatency(first) }),
    ...(requests > 0 && {
      histogram: latency
        .classes(CLASSES)
        .map(({ from, to, count }) => ({ fromMs: rounded(from), toMs: rounded(to), count })),
    }),
    failures: Object.fromEntries(failures),
  };
}

function jsonLatency(latency: LatencyHistogram): object {
  const percentiles = PERCENTILES.map((share) => [`p${trimmed(share * 100)}`, rounded(latency.percentile(share))]);
  return {
    mean: rounded(latency.mean),
    min: rounded(latency.least),
    ...Object.fromEntries(percentiles),
    max: rounded(latency.most),
  };
}

function rounded(value: number): number {
  return Number(value.toPrecision(6));
}
