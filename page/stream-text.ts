// The events of a stream as they are shown: outputs of one text joined, and the latest events.

import type { StreamEvent } from './infer.js';

/** Older events are counted, and not kept. */
const KEPT = 200;
/** Characters of joined text. */
const LONGEST = 200_000;
/** Characters of an output of one event. The browser would draw whole tensors for seconds. */
const LONGEST_OUTPUT = 1000;
const NOT_OUTPUTS: ReadonlySet<string> = new Set(['model_name', 'model_version', 'id']);

export class StreamText {
  /** The texts of each output, joined; an output is here while all its values have been single texts. */
  readonly texts = new Map<string, string>();
  /** The texts of the outputs are cut. */
  readonly latest: { readonly number: number; readonly outputs: readonly (readonly [name: string, text: string])[] }[] =
    [];
  count = 0;
  error: string | undefined;
  readonly #mixed = new Set<string>();

  add(event: StreamEvent): void {
    if (typeof event['error'] === 'string' && !('model_name' in event)) {
      this.error = event['error'];
      return;
    }
    this.count++;
    const outputs = Object.entries(event).filter(([name]) => !NOT_OUTPUTS.has(name));
    this.latest.push({ number: this.count, outputs: outputs.map(([name, value]) => [name, cutText(value)]) });
    if (this.latest.length > KEPT) this.latest.shift();
    for (const [name, value] of outputs) this.#join(name, value);
  }

  #join(name: string, value: unknown): void {
    if (this.#mixed.has(name)) return;
    if (typeof value === 'string') {
      this.texts.set(name, ((this.texts.get(name) ?? '') + value).slice(-LONGEST));
    } else {
      this.#mixed.add(name);
      this.texts.delete(name);
    }
  }
}

function cutText(value: unknown): string {
  const text = JSON.stringify(value, (_, inner: unknown) => (typeof inner === 'bigint' ? String(inner) : inner));
  return text.length > LONGEST_OUTPUT ? `${text.slice(0, LONGEST_OUTPUT)} …` : text;
}
