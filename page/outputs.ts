// What an output is shown as.

import type { Value } from './elements.js';

/** Whether values look like the probabilities of classes: none below 0, and 1 together. */
export function isScores(values: readonly Value[]): boolean {
  return (
    values.length > 1 &&
    values.length <= 100_000 &&
    values.every((value) => typeof value === 'number' && value >= 0) &&
    Math.abs(sum(values as readonly number[]) - 1) < 0.01
  );
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

export interface Score {
  readonly index: number;
  readonly score: number;
}

/** The highest ones, highest first; of equal ones the first. NaN comes last. */
export function bestScores(values: readonly number[], most: number): Score[] {
  const scores = values.map((score, index) => ({ index, score }));
  const rank = ({ score }: Score) => (Number.isNaN(score) ? -Infinity : score);
  return scores.sort((a, b) => rank(b) - rank(a) || a.index - b.index).slice(0, most);
}

const BEGINNINGS: readonly (readonly [type: string, bytes: readonly number[], at?: number])[] = [
  ['image/png', [0x89, 0x50, 0x4e, 0x47]],
  ['image/jpeg', [0xff, 0xd8, 0xff]],
  ['image/gif', [0x47, 0x49, 0x46, 0x38]],
  ['image/webp', [0x57, 0x45, 0x42, 0x50], 8],
  ['image/bmp', [0x42, 0x4d]],
];

/** By the first bytes. Only images of pixels: one of markup could hold more than an image. */
export function imageType(bytes: Uint8Array): string | undefined {
  return BEGINNINGS.find(([, beginning, at = 0]) => beginning.every((byte, index) => bytes[at + index] === byte))?.[0];
}
