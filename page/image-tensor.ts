// Images as tensors of pixels: [3, H, W], [H, W, 3], [H, W] for grey ones, and their like, which models of images take.

import type { DeclaredTensorJson } from '../src/frontend/page/page-json.js';
import type { PixelSize } from './boxes.js';
import { type Elements, isFloat } from './elements.js';

/** What the values of pixels lie in, for floats. */
export type PixelRange = 'one' | 'signed' | 'byte' | 'imagenet';

export const RANGES: Readonly<Record<PixelRange, string>> = {
  one: '0 … 1',
  signed: '−1 … 1',
  byte: '0 … 255',
  imagenet: "ImageNet's mean and deviation",
};

const MEAN = [0.485, 0.456, 0.406];
const DEVIATION = [0.229, 0.224, 0.225];

export interface ImageLayout {
  /** 0 for pixels without an axis for it, which are grey. */
  readonly channels: number;
  /** -1: as the image has it. */
  readonly height: number;
  readonly width: number;
  readonly channelsFirst: boolean;
}

/** Undefined for a shape that no image has. */
export function imageLayout(shape: readonly number[]): ImageLayout | undefined {
  if (shape.length === 2 && shape.every((size) => size >= 8))
    return { channels: 0, height: shape[0]!, width: shape[1]!, channelsFirst: true };
  if (shape.length !== 3) return undefined;
  const [a, b, c] = shape as readonly [number, number, number];
  const isSide = (size: number) => size === -1 || size >= 8;
  if ([1, 3, 4].includes(a) && isSide(b) && isSide(c)) return { channels: a, height: b, width: c, channelsFirst: true };
  if ([1, 3, 4].includes(c) && isSide(a) && isSide(b))
    return { channels: c, height: a, width: b, channelsFirst: false };
  return undefined;
}

/** Scales the image to the declared size. Rejects for a file that the browser has no image of. */
export async function imageElements(file: File, spec: DeclaredTensorJson, range: PixelRange): Promise<Elements> {
  const layout = imageLayout(spec.shape)!;
  const image = await createImageBitmap(file).catch(() => {
    throw new Error(`${spec.name}: the browser finds no image in '${file.name}'`);
  });
  const height = layout.height === -1 ? image.height : layout.height;
  const width = layout.width === -1 ? image.width : layout.width;
  const canvas = new OffscreenCanvas(width, height);
  const context = canvas.getContext('2d')!;
  context.drawImage(image, 0, 0, width, height);
  image.close();
  const { data } = context.getImageData(0, 0, width, height);
  const { channels, channelsFirst } = layout;
  const values = pixelValues(data, {
    channels: Math.max(1, channels),
    channelsFirst,
    range: isFloat(spec.datatype) ? range : 'byte',
  });
  if (channels === 0) return { shape: [height, width], values };
  return { shape: channelsFirst ? [channels, height, width] : [height, width, channels], values };
}

/** Of a tensor in the shape of an image. */
export function pixelSize(shape: readonly number[]): PixelSize {
  const { height, width } = imageLayout(shape)!;
  return { height, width };
}

/** `rgba`: four bytes a pixel, as a canvas gives them. */
export function pixelValues(
  rgba: ArrayLike<number>,
  {
    channels,
    channelsFirst,
    range,
  }: { readonly channels: number; readonly channelsFirst: boolean; readonly range: PixelRange },
): Float32Array {
  const pixels = rgba.length / 4;
  const values = new Float32Array(pixels * channels);
  for (let pixel = 0; pixel < pixels; pixel++) {
    for (let channel = 0; channel < channels; channel++) {
      const at = channelsFirst ? channel * pixels + pixel : pixel * channels + channel;
      values[at] = scaled(channels === 1 ? grey(rgba, pixel * 4) : rgba[pixel * 4 + channel]!, channel, range);
    }
  }
  return values;
}

/** By ITU-R BT.601, as most libraries have it. */
function grey(rgba: ArrayLike<number>, at: number): number {
  return Math.round(0.299 * rgba[at]! + 0.587 * rgba[at + 1]! + 0.114 * rgba[at + 2]!);
}

function scaled(byte: number, channel: number, range: PixelRange): number {
  switch (range) {
    case 'one':
      return byte / 255;
    case 'signed':
      return byte / 127.5 - 1;
    case 'byte':
      return byte;
    case 'imagenet':
      return (byte / 255 - (MEAN[channel] ?? 0)) / (DEVIATION[channel] ?? 1);
  }
}
