// A command that Ctrl-C ended.

import { TritonError } from '../errors.js';

export class Interrupted extends TritonError {
  constructor() {
    super('CANCELLED', 'interrupted');
  }
}

/** A signal that the first SIGINT aborts, with an `Interrupted`; a second one ends the process as it ends any. */
export function interruptSignal(): { readonly signal: AbortSignal; readonly [Symbol.dispose]: () => void } {
  const controller = new AbortController();
  const onInterrupt = () => controller.abort(new Interrupted());
  process.once('SIGINT', onInterrupt);
  return { signal: controller.signal, [Symbol.dispose]: () => void process.off('SIGINT', onInterrupt) };
}
