// Reads one line of text: the crop as the recognition and direction networks take it, and the text that the network's steps say.
import { readFileSync } from 'node:fs';

import { sidesOf } from './detection.js';
import { type Box, cutOut, type Picture, toPlanes } from './image.js';

const NORMALIZATION = { mean: [0.5, 0.5, 0.5], deviation: [0.5, 0.5, 0.5] };
export const LINE_HEIGHT = 48;
/** The direction network sees the beginning of a line. */
export const DIRECTION_WIDTH = 192;
/**
 * Lines are padded to a multiple of this width, so that lines of about the same length share a batch. A short line of text is read
 * better with some room.
 */
const WIDTH_STEP = 160;
const WIDEST = 3200;
/** The network says "no character" with the first class. */
const BLANK = 0;

/** Cuts a line out of the picture, 48 pixels high. */
export function cutLine(picture: Picture, box: Box): Picture {
  const [width, height] = sidesOf(box);
  const columns = Math.min(WIDEST, Math.max(1, Math.round((LINE_HEIGHT * width) / Math.max(1, height))));
  return cutOut(picture, box, { width: columns, height: LINE_HEIGHT });
}

/** Numbers of the line for the direction network, `[3, 48, 192]`. */
export function toDirectionInput(line: Picture): Float32Array {
  const width = Math.min(line.width, DIRECTION_WIDTH);
  const box: Box = [
    [0, 0],
    [line.width, 0],
    [line.width, line.height],
    [0, line.height],
  ];
  return toPlanes(cutOut(line, box, { width, height: LINE_HEIGHT }), NORMALIZATION, DIRECTION_WIDTH);
}

/** The line turned by half a turn. */
export function turnedRound({ width, height, pixels }: Picture): Picture {
  const turned = new Uint8Array(pixels.length);
  const last = width * height - 1;
  for (let pixel = 0; pixel <= last; pixel++) {
    turned.set(pixels.subarray(3 * pixel, 3 * pixel + 3), 3 * (last - pixel));
  }
  return { width, height, pixels: turned };
}

export interface RecognitionInput {
  readonly planes: Float32Array;
  readonly width: number;
}

/** Numbers of the line for the recognition network, `[3, 48, width]`. */
export function toRecognitionInput(line: Picture): RecognitionInput {
  const width = Math.ceil(line.width / WIDTH_STEP) * WIDTH_STEP;
  return { planes: toPlanes(line, NORMALIZATION, width), width };
}

/** The characters by class: the file has one a line; a space comes last. */
export function readCharacters(path: string): readonly string[] {
  return ['', ...readFileSync(path, 'utf8').split(/\r?\n/).filter(Boolean), ' '];
}

export interface ReadLine {
  readonly text: string;
  /** Mean probability of its characters. */
  readonly confidence: number;
}

/** Decodes `[steps, classes]` greedily, as CTC has it: repeated classes count once, blanks separate. */
export function readLine(probabilities: Float32Array, classes: number, characters: readonly string[]): ReadLine {
  let text = '';
  let sum = 0;
  let count = 0;
  let before = BLANK;
  for (let step = 0; step * classes < probabilities.length; step++) {
    const best = indexOfLargest(probabilities, step * classes, classes);
    if (best !== BLANK && best !== before) {
      text += characters[best] ?? '';
      sum += probabilities[step * classes + best]!;
      count++;
    }
    before = best;
  }
  return { text, confidence: count === 0 ? 0 : sum / count };
}

function indexOfLargest(values: Float32Array, from: number, count: number): number {
  let best = 0;
  for (let index = 1; index < count; index++) if (values[from + index]! > values[from + best]!) best = index;
  return best;
}
