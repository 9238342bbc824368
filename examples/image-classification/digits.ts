// Draws digits as pictures of 16 × 16 pixels: strokes that are shifted, slanted, thick or thin, with noise on them.

export const SIZE = 16;
export const PIXELS = SIZE * SIZE;
export const CLASSES = 10;

type Point = readonly [x: number, y: number];

/** The strokes of each digit, in a box of 1 × 1. */
const STROKES: readonly (readonly (readonly Point[])[])[] = [
  [[[0.5, 0], [0.9, 0.25], [0.9, 0.75], [0.5, 1], [0.1, 0.75], [0.1, 0.25], [0.5, 0]]], // prettier-ignore
  [[[0.25, 0.25], [0.55, 0], [0.55, 1]]], // prettier-ignore
  [[[0.1, 0.2], [0.5, 0], [0.9, 0.25], [0.1, 1], [0.9, 1]]], // prettier-ignore
  [[[0.1, 0.1], [0.6, 0], [0.85, 0.25], [0.4, 0.48], [0.9, 0.75], [0.5, 1], [0.1, 0.9]]], // prettier-ignore
  [[[0.7, 1], [0.7, 0], [0.1, 0.65], [0.95, 0.65]]], // prettier-ignore
  [[[0.9, 0], [0.2, 0], [0.15, 0.45], [0.7, 0.4], [0.9, 0.7], [0.5, 1], [0.1, 0.9]]], // prettier-ignore
  [[[0.75, 0], [0.25, 0.4], [0.1, 0.75], [0.5, 1], [0.9, 0.75], [0.5, 0.5], [0.15, 0.7]]], // prettier-ignore
  [[[0.1, 0], [0.9, 0], [0.4, 1]], [[0.3, 0.5], [0.8, 0.5]]], // prettier-ignore
  [[[0.5, 0], [0.85, 0.22], [0.15, 0.75], [0.5, 1], [0.85, 0.75], [0.15, 0.22], [0.5, 0]]], // prettier-ignore
  [[[0.85, 0.3], [0.5, 0.5], [0.15, 0.25], [0.5, 0], [0.85, 0.3], [0.75, 1]]], // prettier-ignore
];

/** Grey values 0 … 255, row by row. */
export function drawDigit(digit: number, random: () => number): Uint8Array {
  const between = (from: number, to: number) => from + (to - from) * random();
  const width = between(7, 10);
  const height = between(9, 12);
  const left = between(1, SIZE - 1 - width);
  const top = between(1, SIZE - 1 - height);
  const slant = between(-0.2, 0.2);
  const radius = between(0.5, 1);
  const place = ([x, y]: Point): Point => [left + (x + slant * (0.5 - y)) * width, top + y * height];
  const lines = STROKES[digit]!.flatMap((stroke) =>
    stroke.slice(1).map((to, i) => [place(stroke[i]!), place(to)] as const),
  );
  return Uint8Array.from({ length: PIXELS }, (_, i) => {
    const pixel: Point = [(i % SIZE) + 0.5, Math.floor(i / SIZE) + 0.5];
    let distance = Infinity;
    for (const [from, to] of lines) distance = Math.min(distance, distanceTo(pixel, from, to));
    const ink = Math.max(0, Math.min(1, radius + 0.5 - distance));
    return Math.max(0, Math.min(255, 220 * ink + between(-60, 60)));
  });
}

/** From a point to the nearest one between two others. */
function distanceTo([x, y]: Point, [fromX, fromY]: Point, [toX, toY]: Point): number {
  const [dx, dy] = [toX - fromX, toY - fromY];
  const at = Math.max(0, Math.min(1, ((x - fromX) * dx + (y - fromY) * dy) / (dx * dx + dy * dy || 1)));
  return Math.hypot(x - fromX - at * dx, y - fromY - at * dy);
}

/** The picture in characters, two to a pixel. */
export function asText(pixels: Uint8Array): string {
  const rows = Array.from({ length: SIZE }, (_, y) => pixels.subarray(y * SIZE, (y + 1) * SIZE));
  return rows
    .map((row) =>
      Array.from(row, (grey) => ' .:*#'[Math.floor(grey / 52)]!.repeat(2))
        .join('')
        .trimEnd(),
    )
    .join('\n');
}
