// Sound as a tensor of samples, one channel.

import type { DeclaredTensorJson } from '../src/frontend/page/page-json.js';
import { type Elements, isFloat } from './elements.js';

/** Samples of -1 … 1 for floats, and of the whole range for integers. Rejects for a file that the browser hears nothing in. */
export async function soundElements(file: File, spec: DeclaredTensorJson, rate: number): Promise<Elements> {
  const context = new OfflineAudioContext(1, 1, rate);
  // Decoding resamples to the rate of the context.
  const sound = await context.decodeAudioData(await file.arrayBuffer()).catch(() => {
    throw new Error(`${spec.name}: the browser finds no sound in '${file.name}'`);
  });
  const samples = mono(Array.from({ length: sound.numberOfChannels }, (_, channel) => sound.getChannelData(channel)));
  const values = isFloat(spec.datatype)
    ? samples
    : samples.map((sample) => Math.round(Math.max(-1, Math.min(1, sample)) * 32_767));
  return { shape: [values.length], values };
}

/** The mean of the channels. */
export function mono(channels: readonly Float32Array[]): Float32Array {
  const [first = new Float32Array(0)] = channels;
  return first.map((_, index) => channels.reduce((sum, channel) => sum + channel[index]!, 0) / channels.length);
}
