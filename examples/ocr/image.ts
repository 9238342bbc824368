// Pictures as pixels: decoded by sharp, and sampled along a box that may lie at any angle.
import sharp, { type Sharp } from 'sharp';
import { TritonError } from 'tstriton';

export interface Picture {
  readonly width: number;
  readonly height: number;
  /** Rows of pixels with three bytes each: red, green and blue. */
  readonly pixels: Uint8Array;
}

export type Point = readonly [x: number, y: number];

/** The corners of a rectangle: top left, top right, bottom right and bottom left, as the text reads. */
export type Box = readonly [Point, Point, Point, Point];

/** Decodes a JPEG, PNG or WebP file, turned as its EXIF data says. */
export async function decodePicture(file: Uint8Array): Promise<Picture> {
  try {
    return await raw(sharp(file).rotate());
  } catch (cause) {
    // The client's mistake, not the server's.
    throw new TritonError('INVALID_ARG', `image is no picture that can be read: ${(cause as Error).message}`, {
      cause,
    });
  }
}

/** Scales a picture to exactly this size. */
export async function resizePicture({ width, height, pixels }: Picture, to: Size): Promise<Picture> {
  const source = sharp(pixels, { raw: { width, height, channels: 3 } });
  return raw(source.resize(to.width, to.height, { fit: 'fill', kernel: 'linear' }));
}

export interface Size {
  readonly width: number;
  readonly height: number;
}

async function raw(image: Sharp): Promise<Picture> {
  const { data, info } = await image
    .flatten({ background: 'white' })
    .toColourspace('srgb')
    .removeAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true });
  return { width: info.width, height: info.height, pixels: data };
}

/** Cuts a box out and scales it to a size, with bilinear interpolation. */
export function cutOut(picture: Picture, [topLeft, topRight, , bottomLeft]: Box, { width, height }: Size): Picture {
  const pixels = new Uint8Array(3 * width * height);
  for (let row = 0; row < height; row++) {
    const down = (row + 0.5) / height;
    for (let column = 0; column < width; column++) {
      const right = (column + 0.5) / width;
      const x = topLeft[0] + right * (topRight[0] - topLeft[0]) + down * (bottomLeft[0] - topLeft[0]) - 0.5;
      const y = topLeft[1] + right * (topRight[1] - topLeft[1]) + down * (bottomLeft[1] - topLeft[1]) - 0.5;
      samplePixel(picture, x, y, pixels, 3 * (row * width + column));
    }
  }
  return { width, height, pixels };
}

function samplePixel({ width, height, pixels }: Picture, x: number, y: number, to: Uint8Array, at: number): void {
  const left = clamp(Math.floor(x), width - 1);
  const top = clamp(Math.floor(y), height - 1);
  const right = Math.min(left + 1, width - 1);
  const bottom = Math.min(top + 1, height - 1);
  const [fromLeft, fromTop] = [clamp(x - left, 1), clamp(y - top, 1)];
  for (let colour = 0; colour < 3; colour++) {
    const pixel = (column: number, row: number) => pixels[3 * (row * width + column) + colour]!;
    const above = pixel(left, top) * (1 - fromLeft) + pixel(right, top) * fromLeft;
    const below = pixel(left, bottom) * (1 - fromLeft) + pixel(right, bottom) * fromLeft;
    to[at + colour] = Math.round(above * (1 - fromTop) + below * fromTop);
  }
}

function clamp(value: number, most: number): number {
  return Math.max(0, Math.min(most, value));
}

/**
 * The numbers that the networks want: three planes of blue, green and red, each `(value / 255 - mean) / deviation`. A target that
 * is wider than the picture stays zero on its right.
 */
export function toPlanes(
  { width, height, pixels }: Picture,
  { mean, deviation }: { readonly mean: readonly number[]; readonly deviation: readonly number[] },
  planeWidth: number = width,
): Float32Array {
  const planes = new Float32Array(3 * planeWidth * height);
  for (let plane = 0; plane < 3; plane++) {
    const colour = 2 - plane;
    const scale = 1 / (255 * deviation[plane]!);
    const offset = mean[plane]! / deviation[plane]!;
    for (let row = 0; row < height; row++) {
      const from = 3 * row * width + colour;
      const to = (plane * height + row) * planeWidth;
      for (let column = 0; column < width; column++) planes[to + column] = pixels[from + 3 * column]! * scale - offset;
    }
  }
  return planes;
}
