// Makes sound like speech: a buzzing voice whose resonances, the formants, glide from vowel to vowel, with the noise of consonants
// between them.
import { RATE } from './model.js';

/** Numbers that look random, and are the same for the same seed. */
export type Random = () => number;

export function random(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** The first three formants of vowels in hertz, as measured by Peterson and Barney (1952). */
const VOWELS = [
  [730, 1090, 2440],
  [530, 1840, 2480],
  [270, 2290, 3010],
  [570, 840, 2410],
  [300, 870, 2240],
  [660, 1720, 2410],
] as const;
/** Higher formants, which change little. */
const HIGH_FORMANTS = [3500, 4500] as const;
const BANDWIDTHS = [70, 90, 140, 200, 250] as const;
/** How fast the formants move: the part of the way in one sample. */
const GLIDE = 0.0012;
/** The part of a period in which the vocal cords are open. */
const OPEN = 0.6;

/** A voice that says syllables for as long as it is asked. Its loudest sample is about 0.4. */
export function speak(seconds: number, next: Random): Float32Array {
  const sound = new Float32Array(Math.round(seconds * RATE));
  const pitch = 90 + 110 * next();
  const formants: number[] = [...vowel(next)];
  const resonators = BANDWIDTHS.map((bandwidth) => new Resonator(bandwidth));
  let phase = 0;
  let sample = 0;
  while (sample < sound.length) {
    const target = vowel(next);
    const consonant = Math.round((0.04 + 0.05 * next()) * RATE);
    const length = consonant + Math.round((0.12 + 0.14 * next()) * RATE);
    const syllablePitch = pitch * (0.85 + 0.35 * next());
    const hisses = next() < 0.5;
    for (let i = 0; i < length && sample < sound.length; i++, sample++) {
      for (let k = 0; k < target.length; k++) formants[k]! += GLIDE * (target[k]! - formants[k]!);
      const vowelPart = Math.max(0, (i - consonant) / (length - consonant));
      const loudness = Math.min(1, 8 * vowelPart, 4 * (1 - vowelPart));
      const trembling = 1 + 0.01 * Math.sin((2 * Math.PI * 5 * sample) / RATE);
      phase = (phase + (syllablePitch * trembling * (1.08 - 0.16 * vowelPart)) / RATE) % 1;
      let value = loudness * (0.3 * glottis(phase) + 0.02 * (next() - 0.5));
      resonators.forEach((resonator, k) => {
        value = resonator.filter(value, formants[k] ?? HIGH_FORMANTS[k - formants.length]!);
      });
      if (hisses && i < consonant) value += 0.05 * (next() - 0.5) * Math.sin((Math.PI * i) / consonant);
      sound[sample] = value;
    }
  }
  const loudest = sound.reduce((most, value) => Math.max(most, Math.abs(value)), 1e-6);
  return sound.map((value) => (0.4 * value) / loudest);
}

function vowel(next: Random): (typeof VOWELS)[number] {
  return VOWELS[Math.floor(next() * VOWELS.length)]!;
}

/** The change of the air flow through the vocal cords, by the part of a period. */
function glottis(phase: number): number {
  if (phase >= OPEN) return 0;
  const angle = (Math.PI * phase) / OPEN;
  return (angle * Math.cos(angle) + Math.sin(angle)) / OPEN;
}

/** Two poles: it rings at one frequency. */
class Resonator {
  readonly #decay: number;
  #last = 0;
  #beforeLast = 0;

  constructor(bandwidth: number) {
    this.#decay = Math.exp((-Math.PI * bandwidth) / RATE);
  }

  filter(value: number, frequency: number): number {
    const b = 2 * this.#decay * Math.cos((2 * Math.PI * frequency) / RATE);
    const c = -this.#decay * this.#decay;
    const filtered = (1 - b - c) * value + b * this.#last + c * this.#beforeLast;
    this.#beforeLast = this.#last;
    this.#last = filtered;
    return filtered;
  }
}
