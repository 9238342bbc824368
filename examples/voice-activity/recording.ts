// Makes what a microphone hears: somebody speaks now and then, before noise, a humming machine or a whistle.
import { PIECE, RATE } from './model.js';
import { random, type Random, speak } from './speech.js';

/** From when to when, in seconds. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

export interface Recording {
  readonly sound: Float32Array;
  /** When somebody speaks. */
  readonly speech: readonly Span[];
}

/** Each microphone hears something else. The sound is a whole number of pieces, and begins with silence. */
export function record(microphone: number, seconds: number): Recording {
  const next = random(7919 * microphone + 1);
  const sound = background(Math.floor((seconds * RATE) / PIECE) * PIECE, microphone, next);
  const speech: Span[] = [];
  let from = 0.5 + next();
  while (from + 1.5 < seconds) {
    const to = Math.min(from + 1 + 2 * next(), seconds);
    const voice = speak(to - from, next);
    const first = Math.round(from * RATE);
    voice.forEach((value, i) => {
      if (first + i < sound.length) sound[first + i]! += value;
    });
    speech.push({ from, to });
    from = to + 1 + 1.5 * next();
  }
  return { sound, speech };
}

function background(samples: number, microphone: number, next: Random): Float32Array {
  const noise = 0.002 + 0.01 * next();
  const frequency = [0, 50, 440 + 40 * next(), 1000][microphone % 4]!;
  return Float32Array.from(
    { length: samples },
    (_, i) => noise * (2 * next() - 1) + 0.02 * Math.sin((2 * Math.PI * frequency * i) / RATE),
  );
}
