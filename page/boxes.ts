// The boxes of an output whose declaration says that its rows begin with some.

import type { BoxForm } from '../src/model/tensor-spec.js';

/** In pixels of the image. */
export interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  /** The fifth value of the row. */
  readonly score: number | undefined;
  /** The sixth: the number of its class. */
  readonly kind: number | undefined;
}

export interface PixelSize {
  readonly width: number;
  readonly height: number;
}

/** `columns`: values a row. Coordinates that are all 1 at most are parts of the image; others are its pixels. */
export function boxesOf(
  values: readonly number[],
  columns: number,
  form: BoxForm,
  { width, height }: PixelSize,
): Box[] {
  const rows = Array.from({ length: Math.floor(values.length / columns) }, (_, row) =>
    values.slice(row * columns, (row + 1) * columns),
  );
  const isPart = rows.every((row) => row.slice(0, 4).every((value) => value <= 1));
  const [right, down] = isPart ? [width, height] : [1, 1];
  return rows.map(([a = 0, b = 0, c = 0, d = 0, score, kind]) => {
    const [w, h] = form === 'xyxy' ? [c - a, d - b] : [c, d];
    const [x, y] = form === 'cxcywh' ? [a - w / 2, b - h / 2] : [a, b];
    return { x: x * right, y: y * down, width: w * right, height: h * down, score, kind };
  });
}

/** What can be drawn: with a size, and a score of at least this one. The best come first. */
export function drawnBoxes(boxes: readonly Box[], least: number, most: number): Box[] {
  return boxes
    .filter(({ width, height, score = 1 }) => width > 0 && height > 0 && score >= least)
    .sort((a, b) => (b.score ?? 1) - (a.score ?? 1))
    .slice(0, most);
}
