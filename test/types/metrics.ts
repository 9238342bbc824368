// Metrics of users' own against their declarations: what may be recorded with which labels.
import { batch, counter, gauge, histogram, type CounterMetric, type InferenceContext } from 'tstriton';

import type { Equal, Expect } from './expect-type.js';

const tokens = counter({ name: 'chat_tokens_total', help: 'Tokens.', labels: ['kind', 'zone'] });
const level = gauge({ name: 'chat_level', help: 'Level.' });
const sizes = histogram({ name: 'chat_size_bytes', help: 'Sizes.', labels: ['kind'], buckets: [1, 10] });
export type Labels = [
  Expect<Equal<(typeof tokens)['labels'][number], 'kind' | 'zone'>>,
  Expect<Equal<(typeof level)['labels'][number], never>>,
];

export const callable = batch(({ x }, { metrics }) => {
  metrics.add(tokens, 1, { kind: 'a', zone: 'b' });
  metrics.add(level, -1);
  metrics.set(level, 3);
  metrics.observe(sizes, 5, { kind: 'a' });
  return { y: x! };
});

export function wrong({ metrics }: InferenceContext): void {
  // @ts-expect-error A label is missing.
  metrics.add(tokens, 1, { kind: 'a' });
  // @ts-expect-error All labels are missing.
  metrics.add(tokens, 1);
  // @ts-expect-error No such label.
  metrics.observe(sizes, 1, { kind: 'a', zone: 'b' });
  // @ts-expect-error It has no labels.
  metrics.set(level, 1, { kind: 'a' });
  // @ts-expect-error A label is a string.
  metrics.observe(sizes, 1, { kind: 1 });
  // @ts-expect-error A counter is not set.
  metrics.set(tokens, 1, { kind: 'a', zone: 'b' });
  // @ts-expect-error A histogram is observed.
  metrics.add(sizes, 1, { kind: 'a' });
  // @ts-expect-error A gauge is not observed.
  metrics.observe(level, 1);
}

/** Declarations can be handed around. */
export function count(metric: CounterMetric<'kind'>, { metrics }: InferenceContext): void {
  metrics.add(metric, 1, { kind: 'a' });
}
