// Draws pages of which the text is known. The letters come from DejaVu Sans, so that the pages look alike on every machine.
import { createRequire } from 'node:module';

import sharp from 'sharp';

const FONT_FILE = createRequire(import.meta.url).resolve('dejavu-fonts-ttf/ttf/DejaVuSans.ttf');
const [WIDTH, MARGIN, LINE_SPACING] = [900, 40, 34];
/** Sizes of type in points; the lines of a page take them in turn. */
const SIZES = [13, 16, 19];

export interface DrawnPage {
  readonly lines: readonly string[];
  /** A JPEG file. */
  readonly image: Uint8Array;
}

/** Draws the lines below each other in black on white, turned by an angle in degrees. */
export async function drawPage(lines: readonly string[], angle = 0): Promise<DrawnPage> {
  const drawn = await Promise.all(lines.map((line, index) => drawLine(line, SIZES[index % SIZES.length]!)));
  let top = MARGIN;
  const layers = drawn.map(({ data, info }) => {
    const layer = { input: data, left: MARGIN, top };
    top += info.height + LINE_SPACING;
    return layer;
  });
  const background = { width: WIDTH, height: top + MARGIN - LINE_SPACING, channels: 3, background: 'white' } as const;
  const page = await sharp({ create: background }).composite(layers).png().toBuffer();
  const image = await sharp(page).rotate(angle, { background: 'white' }).jpeg({ quality: 90 }).toBuffer();
  return { lines, image };
}

function drawLine(text: string, points: number) {
  const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  const line = { text: escaped, font: `DejaVu Sans ${points}`, fontfile: FONT_FILE, dpi: 110, rgba: true };
  return sharp({ text: line }).png().toBuffer({ resolveWithObject: true });
}

/** The picture with the outlines of boxes, as PNG. `boxes`: eight numbers each, x and y of the four corners. */
export async function drawBoxes(image: Uint8Array, boxes: Float32Array): Promise<Uint8Array> {
  const { width, height } = await sharp(image).metadata();
  const outlines = Array.from({ length: boxes.length / 8 }, (_, box) => {
    const points = [...boxes.subarray(8 * box, 8 * box + 8)].map((value) => value.toFixed(1)).join(' ');
    return `<polygon points="${points}" fill="none" stroke="#d9480f" stroke-width="2"/>`;
  });
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">${outlines.join('')}</svg>`;
  return sharp(image)
    .composite([{ input: Buffer.from(svg) }])
    .png()
    .toBuffer();
}
