// Finds lines of text. The detection network gives each pixel the probability that it belongs to text; what belongs together
// becomes a rectangle, which may be turned. Follows DB, "Real-time Scene Text Detection with Differentiable Binarization"
// (Liao et al. 2020), whose network shrinks the regions of text, so that the rectangles have to grow again.
import { type Box, type Picture, type Point, resizePicture, type Size, toPlanes } from './image.js';

const NORMALIZATION = { mean: [0.485, 0.456, 0.406], deviation: [0.229, 0.224, 0.225] };
/** The network wants sides that are multiples of this. */
const SIDE_STEP = 32;
const LONGEST_SIDE = 960;
const LEAST_PROBABILITY = 0.3;
/** Mean probability of a region; regions below it are not text. */
const LEAST_MEAN_PROBABILITY = 0.5;
const LEAST_SIDE = 3;
/** How far a rectangle grows: this times its area by its perimeter. */
const GROWTH = 1.6;

export interface DetectionInput {
  readonly planes: Float32Array;
  readonly shape: readonly [channels: 3, height: number, width: number];
}

/** The picture as the detection network takes it. */
export async function toDetectionInput(picture: Picture): Promise<DetectionInput> {
  const { width, height } = detectionSize(picture);
  const planes = toPlanes(await resizePicture(picture, { width, height }), NORMALIZATION);
  return { planes, shape: [3, height, width] };
}

function detectionSize({ width, height }: Size): Size {
  const scale = Math.min(1, LONGEST_SIDE / Math.max(width, height));
  const side = (pixels: number) => Math.max(SIDE_STEP, Math.round((pixels * scale) / SIDE_STEP) * SIDE_STEP);
  return { width: side(width), height: side(height) };
}

/** The lines of text in reading order, in pixels of a picture of size `of`. */
export function findBoxes(probabilities: Float32Array, map: Size, of: Size): Box[] {
  const boxes = regionsOf(probabilities, map)
    .filter(({ mean }) => mean >= LEAST_MEAN_PROBABILITY)
    .map(({ outline }) => smallestRectangle(convexHull(outline)))
    .filter((box) => Math.min(...sidesOf(box)) >= LEAST_SIDE)
    .map((box) => upright(scaled(grown(box), of.width / map.width, of.height / map.height)));
  return inReadingOrder(boxes);
}

interface Region {
  readonly outline: readonly Point[];
  readonly mean: number;
}

/** Connected pixels of text, found by filling. */
function regionsOf(probabilities: Float32Array, { width, height }: Size): Region[] {
  const seen = new Uint8Array(width * height);
  const isText = (pixel: number) => probabilities[pixel]! > LEAST_PROBABILITY;
  const regions: Region[] = [];
  for (let start = 0; start < seen.length; start++) {
    if (seen[start] === 1 || !isText(start)) continue;
    const pixels = [start];
    seen[start] = 1;
    // The list grows while it is walked.
    for (const pixel of pixels) {
      for (const next of neighbours(pixel, width, seen.length)) {
        if (seen[next] === 1 || !isText(next)) continue;
        seen[next] = 1;
        pixels.push(next);
      }
    }
    const sum = pixels.reduce((total, pixel) => total + probabilities[pixel]!, 0);
    regions.push({ outline: outlineOf(pixels, width), mean: sum / pixels.length });
  }
  return regions;
}

function neighbours(pixel: number, width: number, pixels: number): number[] {
  const column = pixel % width;
  const found: number[] = [];
  if (column > 0) found.push(pixel - 1);
  if (column < width - 1) found.push(pixel + 1);
  if (pixel >= width) found.push(pixel - width);
  if (pixel < pixels - width) found.push(pixel + width);
  return found;
}

/** The ends of each row, as the corners of pixels. */
function outlineOf(pixels: readonly number[], width: number): Point[] {
  const ends = new Map<number, [first: number, last: number]>();
  for (const pixel of pixels) {
    const [row, column] = [Math.floor(pixel / width), pixel % width];
    const [first, last] = ends.get(row) ?? [column, column];
    ends.set(row, [Math.min(first, column), Math.max(last, column)]);
  }
  return [...ends].flatMap(([row, [first, last]]): Point[] => [
    [first, row],
    [first, row + 1],
    [last + 1, row],
    [last + 1, row + 1],
  ]);
}

/** Andrew's monotone chain; anticlockwise where y grows upwards. */
function convexHull(points: readonly Point[]): Point[] {
  const sorted = points.toSorted((a, b) => a[0] - b[0] || a[1] - b[1]);
  return [...halfHull(sorted), ...halfHull(sorted.toReversed())];
}

function halfHull(points: readonly Point[]): Point[] {
  const hull: Point[] = [];
  for (const point of points) {
    while (hull.length >= 2 && turn(hull.at(-2)!, hull.at(-1)!, point) <= 0) hull.pop();
    hull.push(point);
  }
  return hull.slice(0, -1);
}

function turn(a: Point, b: Point, c: Point): number {
  return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
}

/** The rectangle of least area around a hull: one of its sides lies on a side of the hull. */
function smallestRectangle(hull: readonly Point[]): Box {
  let best: { readonly area: number; readonly box: Box } | undefined;
  hull.forEach((point, index) => {
    const next = hull[(index + 1) % hull.length]!;
    const angle = Math.atan2(next[1] - point[1], next[0] - point[0]);
    const turned = hull.map((corner) => rotated(corner, -angle));
    const [xs, ys] = [turned.map(([x]) => x), turned.map(([, y]) => y)];
    const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    const area = (right - left) * (bottom - top);
    if (best !== undefined && area >= best.area) return;
    const corners: Box = [
      [left, top],
      [right, top],
      [right, bottom],
      [left, bottom],
    ];
    best = { area, box: mapCorners(corners, (corner) => rotated(corner, angle)) };
  });
  return best!.box;
}

function rotated([x, y]: Point, angle: number): Point {
  const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
  return [x * cos - y * sin, x * sin + y * cos];
}

function mapCorners([a, b, c, d]: Box, change: (corner: Point) => Point): Box {
  return [change(a), change(b), change(c), change(d)];
}

/** The lengths of the first and of the second side. */
export function sidesOf([a, b, c]: Box): readonly [number, number] {
  return [Math.hypot(b[0] - a[0], b[1] - a[1]), Math.hypot(c[0] - b[0], c[1] - b[1])];
}

function grown(box: Box): Box {
  const [width, height] = sidesOf(box);
  const growth = (GROWTH * width * height) / (2 * (width + height));
  const [a, b, , d] = box;
  const along: Point = [((b[0] - a[0]) / width) * growth, ((b[1] - a[1]) / width) * growth];
  const across: Point = [((d[0] - a[0]) / height) * growth, ((d[1] - a[1]) / height) * growth];
  const moved = ([x, y]: Point, right: number, down: number): Point => [
    x + right * along[0] + down * across[0],
    y + right * along[1] + down * across[1],
  ];
  return [moved(box[0], -1, -1), moved(box[1], 1, -1), moved(box[2], 1, 1), moved(box[3], -1, 1)];
}

function scaled(box: Box, x: number, y: number): Box {
  return mapCorners(box, (corner) => [corner[0] * x, corner[1] * y]);
}

/** The corners begin at the top left of the text, which lies along the longer side. Upright text of one letter stays upright. */
function upright(box: Box): Box {
  const turns = [0, 1, 2, 3].map((first): Box => {
    const corner = (index: number) => box[(first + index) % 4]!;
    return [corner(0), corner(1), corner(2), corner(3)];
  });
  const level = turns.toSorted((a, b) => slopeOf(a) - slopeOf(b))[0]!;
  const [width, height] = sidesOf(level);
  if (height < 1.5 * width) return level;
  // A column of text reads from the bottom to the top, or the direction network turns it round.
  return [level[3], level[0], level[1], level[2]];
}

/** How far the first side is from running to the right, in radians. */
function slopeOf([a, b]: Box): number {
  return Math.abs(Math.atan2(b[1] - a[1], b[0] - a[0]));
}

/** From top to bottom, and from left to right in lines that share most of their height. */
function inReadingOrder(boxes: readonly Box[]): Box[] {
  const middle = (box: Box) => (box[0][1] + box[2][1]) / 2;
  const left = (box: Box) => Math.min(box[0][0], box[3][0]);
  const lines: Box[][] = [];
  for (const box of boxes.toSorted((a, b) => middle(a) - middle(b))) {
    const line = lines.at(-1);
    const first = line?.[0];
    const isSameLine = first !== undefined && middle(box) - middle(first) < Math.min(...sidesOf(first)) / 2;
    if (isSameLine) line!.push(box);
    else lines.push([box]);
  }
  return lines.flatMap((line) => line.toSorted((a, b) => left(a) - left(b)));
}
