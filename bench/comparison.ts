// One case of a suite, such as "HTTP JSON, 16 connections": every server's samples, and how each compares with the floor.

import type { RoundSample } from './interleaved.js';
import { median, pairedRatios, spread } from './statistics.js';
import type { Spread } from './statistics.js';
import { formatFigure, formatTable } from './table.js';

export interface Measured {
  readonly server: string;
  readonly title: string;
  readonly samples: readonly RoundSample[];
}

export interface Comparison {
  readonly id: string;
  readonly title: string;
  readonly connections: number;
  /** What the first one is; the others are compared with it. Default: the floor. */
  readonly base?: string;
  readonly measured: readonly Measured[];
}

export type Figure = 'requestsPerSecond' | 'p50' | 'p99' | 'serverCpuPerRequest';

const BUSY = 0.93;
const ENOUGH_CONNECTIONS = 16;
const headOf = (base: string): readonly string[] => [
  'server',
  'req/s',
  `x ${base} (min-max)`,
  'p50 us',
  `x ${base}`,
  'p99 us',
  `x ${base}`,
  'CPU us/req',
  `x ${base}`,
  'server busy',
  'load busy',
  'RSS MB',
  'errors',
];

function valuesOf(measured: Measured, figure: keyof RoundSample): readonly number[] {
  return measured.samples.map((sample) => Number(sample[figure]));
}

export function medianOf(measured: Measured, figure: keyof RoundSample): number {
  return median(valuesOf(measured, figure));
}

/** Of the paired rounds, so that a slow spell of the machine, which hits both, cancels. */
export function ratioToFloor(comparison: Comparison, measured: Measured, figure: Figure): Spread {
  return spread(pairedRatios(valuesOf(measured, figure), valuesOf(comparison.measured[0]!, figure)));
}

export function errorsOf(comparison: Comparison): number {
  return comparison.measured.flatMap(({ samples }) => samples).reduce((sum, sample) => sum + sample.errors, 0);
}

function rowOf(comparison: Comparison, measured: Measured): readonly string[] {
  const isFloor = measured === comparison.measured[0];
  const figure = (name: keyof RoundSample): string => formatFigure(medianOf(measured, name));
  const ratio = (name: Figure): string =>
    isFloor ? '1' : formatFigure(ratioToFloor(comparison, measured, name).median);
  const rate = ratioToFloor(comparison, measured, 'requestsPerSecond');
  const percent = (name: 'serverBusy' | 'clientBusy'): string => `${(medianOf(measured, name) * 100).toFixed(0)} %`;
  return [
    measured.title,
    figure('requestsPerSecond'),
    isFloor ? '1' : `${formatFigure(rate.median)} (${formatFigure(rate.min)}-${formatFigure(rate.max)})`,
    figure('p50'),
    ratio('p50'),
    figure('p99'),
    ratio('p99'),
    figure('serverCpuPerRequest'),
    ratio('serverCpuPerRequest'),
    percent('serverBusy'),
    percent('clientBusy'),
    (medianOf(measured, 'serverRss') / 1e6).toFixed(0),
    String(valuesOf(measured, 'errors').reduce((sum, errors) => sum + errors, 0)),
  ];
}

// With this many connections one of the two sides always has work, and it should be the server. On few connections
// they take turns, however many streams there are, and neither need be busy.
function noteOn(measured: Measured, connections: number): string | undefined {
  if (connections < ENOUGH_CONNECTIONS || medianOf(measured, 'serverBusy') >= BUSY) return undefined;
  if (medianOf(measured, 'clientBusy') >= BUSY) {
    return 'waited for the load generator: its req/s is a lower bound, read its CPU instead';
  }
  return 'was not busy, nor was the load generator: something else ran on these cores, read its CPU instead';
}

export function formatComparison(comparison: Comparison): string {
  const { measured } = comparison;
  const lines = [
    comparison.title,
    formatTable(
      headOf(comparison.base ?? 'floor'),
      measured.map((one) => rowOf(comparison, one)),
    ),
  ];
  for (const one of measured) {
    const note = noteOn(one, comparison.connections);
    if (note !== undefined) lines.push(`note: '${one.title}' ${note}`);
    const failed = one.samples.find((sample) => sample.firstError !== undefined);
    if (failed) lines.push(`ERROR: '${one.title}', round ${failed.round + 1}: ${failed.firstError}`);
  }
  return lines.join('\n');
}
