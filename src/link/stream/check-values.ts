// Checks the parts of messages from another process that are no tensors: errors, parameters and metrics.

import { ERROR_CODES, invalidArg } from '../../errors.js';
import { counter, gauge, histogram, type Metric, type MetricsUpdate } from '../../observability/metrics.js';
import type { SentError } from '../sent-error.js';

export function expectArray(value: unknown, what: string): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw invalidArg(`${what} of a link's message must be a list, got ${typeof value}`);
}

export function expectNumber(value: unknown, what: string): number {
  if (typeof value === 'number' && value >= 0 && value <= Number.MAX_SAFE_INTEGER) return value;
  throw invalidArg(`${what} of a link's message must be a number from 0, got ${String(value)}`);
}

export function expectWhole(value: unknown, what: string): number {
  if (Number.isSafeInteger(value) && (value as number) >= 0) return value as number;
  throw invalidArg(`${what} of a link's message must be an integer from 0, got ${String(value)}`);
}

export function expectText(value: unknown, what: string): string {
  if (typeof value === 'string') return value;
  throw invalidArg(`${what} of a link's message must be a text, got ${typeof value}`);
}

export function expectRecord(value: unknown, what: string): Readonly<Record<string, unknown>> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw invalidArg(`${what} of a link's message must be an object, got ${typeof value}`);
}

/** `least`: how many errors are needed. */
export function checkErrors(value: unknown, least: number): readonly SentError[] | undefined {
  if (value === undefined && least === 0) return undefined;
  const errors = expectArray(value, 'errors');
  if (errors.length < least) throw invalidArg(`a link's message has ${errors.length} errors, expected ${least}`);
  for (const error of errors) checkError(error);
  return errors as readonly SentError[];
}

export function checkError(value: unknown): SentError {
  const [code, message, kind] = expectArray(value, 'an error');
  expectText(message, 'an error');
  if (!(ERROR_CODES as readonly unknown[]).includes(code)) throw invalidArg(`an error has the code ${String(code)}`);
  if (kind !== undefined && kind !== 1 && kind !== 2) throw invalidArg('an error is of an unknown kind');
  return value as SentError;
}

/** A list with the parameters of each answer, or undefined. */
export function checkParametersOf(value: unknown, count: number): void {
  if (value === undefined) return;
  const all = expectArray(value, 'parameters');
  if (all.length > count) throw invalidArg(`${all.length} parameters for ${count} answers`);
  for (const parameters of all) if (parameters !== undefined) checkParameters(parameters);
}

const PARAMETER_TYPES: readonly string[] = ['string', 'boolean', 'number', 'bigint'];

export function checkParameters(value: unknown): void {
  const parameters = expectRecord(value, 'parameters');
  for (const [name, parameter] of Object.entries(parameters)) {
    if (!PARAMETER_TYPES.includes(typeof parameter)) throw invalidArg(`parameter '${name}' is a ${typeof parameter}`);
  }
}

export function checkMetrics(value: unknown): void {
  if (value === undefined) return;
  for (const update of expectArray(value, 'metrics')) {
    const { metric, series } = expectRecord(update, 'metrics') as unknown as MetricsUpdate[number];
    const declared = declaredMetric(metric);
    for (const one of expectArray(series, 'series')) {
      const { labels, set, added, counts } = expectRecord(one, 'series');
      const values = expectArray(labels, 'labels');
      if (values.length !== declared.labels.length) throw invalidArg(`metric '${declared.name}' has other labels`);
      for (const label of values) expectText(label, 'a label');
      if (typeof added !== 'number') throw invalidArg(`metric '${declared.name}' has no value`);
      if (declared.kind === 'counter' && !(added >= 0)) throw invalidArg(`counter '${declared.name}' must not fall`);
      if (set !== undefined && typeof set !== 'number') throw invalidArg(`metric '${declared.name}' has no value`);
      if (declared.kind !== 'histogram') continue;
      const all = expectArray(counts, 'counts');
      if (all.length !== declared.buckets.length + 1) throw invalidArg(`metric '${declared.name}' has other buckets`);
      for (const count of all) expectWhole(count, 'counts');
    }
  }
}

/** Declares it anew, with all checks of a declaration. */
function declaredMetric(value: unknown): Metric {
  const metric = expectRecord(value, 'a metric') as unknown as Metric;
  for (const label of expectArray(metric.labels, 'labels')) expectText(label, 'a label');
  switch (metric.kind) {
    case 'counter':
      return counter(metric);
    case 'gauge':
      return gauge(metric);
    case 'histogram':
      for (const bound of expectArray(metric.buckets, 'buckets')) expectFinite(bound);
      return histogram(metric);
    default:
      throw invalidArg('a metric is of an unknown kind');
  }
}

function expectFinite(bound: unknown): void {
  if (!Number.isFinite(bound)) throw invalidArg(`a bucket of a metric is ${String(bound)}`);
}
