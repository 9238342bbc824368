// A network with one hidden layer, and its training by stochastic gradient descent with backpropagation.
import { CLASSES, PIXELS } from './digits.js';

const HIDDEN = 32;

export class Network {
  readonly #inner = new Float32Array(HIDDEN * PIXELS);
  readonly #outer = new Float32Array(CLASSES * HIDDEN);
  readonly #hidden = new Float32Array(HIDDEN);
  readonly #error = new Float32Array(HIDDEN);

  constructor(random: () => number) {
    this.#inner.forEach((_, i) => (this.#inner[i] = (random() - 0.5) / 8));
    this.#outer.forEach((_, i) => (this.#outer[i] = (random() - 0.5) / 3));
  }

  /** The probability of each class, written to `scores`. */
  classify(pixels: Uint8Array, scores: Float32Array): void {
    for (let h = 0; h < HIDDEN; h++) {
      let sum = 0;
      for (let i = 0; i < PIXELS; i++) sum += this.#inner[h * PIXELS + i]! * pixels[i]!;
      this.#hidden[h] = Math.max(0, sum / 255);
    }
    let total = 0;
    for (let c = 0; c < CLASSES; c++) {
      let sum = 0;
      for (let h = 0; h < HIDDEN; h++) sum += this.#outer[c * HIDDEN + h]! * this.#hidden[h]!;
      total += scores[c] = Math.exp(Math.min(sum, 50));
    }
    for (let c = 0; c < CLASSES; c++) scores[c]! /= total;
  }

  /** One step towards the right class. */
  train(pixels: Uint8Array, digit: number, rate: number): void {
    const scores = new Float32Array(CLASSES);
    this.classify(pixels, scores);
    scores[digit]! -= 1;
    this.#error.fill(0);
    for (let c = 0; c < CLASSES; c++) {
      for (let h = 0; h < HIDDEN; h++) {
        this.#error[h]! += scores[c]! * this.#outer[c * HIDDEN + h]!;
        this.#outer[c * HIDDEN + h]! -= rate * scores[c]! * this.#hidden[h]!;
      }
    }
    for (let h = 0; h < HIDDEN; h++) {
      if (this.#hidden[h] === 0) continue;
      const step = (rate * this.#error[h]!) / 255;
      for (let i = 0; i < PIXELS; i++) this.#inner[h * PIXELS + i]! -= step * pixels[i]!;
    }
  }
}
