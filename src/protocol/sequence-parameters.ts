// Collects the parameters of the sequence extension. Both protocols have checked the kinds of their values.

import { TritonError } from '../errors.js';
import type { RequestSequence } from '../model/request-sequence.js';

export const SEQUENCE_ID = 'sequence_id';
export const SEQUENCE_START = 'sequence_start';
export const SEQUENCE_END = 'sequence_end';

/** The names of all these parameters. */
export const SEQUENCE_PARAMETERS: readonly string[] = [SEQUENCE_ID, SEQUENCE_START, SEQUENCE_END];

const MAX_ID_BYTES = 128;

/** Collects the fields in any order. */
export class SequenceFields {
  #id: RequestSequence['id'] = 0;
  start = false;
  end = false;

  /** Throws UNSUPPORTED for a text that is too long, as Triton does. */
  set id(id: RequestSequence['id']) {
    if (typeof id === 'string' && Buffer.byteLength(id) > MAX_ID_BYTES) {
      throw new TritonError('UNSUPPORTED', `string correlation ID cannot be longer than ${MAX_ID_BYTES} characters`);
    }
    this.#id = id;
  }

  /** Undefined for a request outside a sequence: its id is 0 or '', and it neither starts nor ends one. */
  get sequence(): RequestSequence | undefined {
    const id = this.#id;
    if ((id === 0 || id === '') && !this.start && !this.end) return undefined;
    return { id, start: this.start, end: this.end };
  }
}
