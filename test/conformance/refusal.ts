// A refusal is told by its code and by what its text says: a fragment of the text is enough, since texts get better,
// but a text that says something else, such as what a crash inside says, is another refusal.
import { TritonError, type ErrorCode } from 'tstriton';

export interface Refusal {
  readonly code: ErrorCode;
  /** Of an expected refusal a fragment. */
  readonly text: string;
}

/** The refusal that was thrown; throws on what is not one of ours. */
export function refusalOf(error: unknown): Refusal {
  if (!TritonError.is(error)) throw error;
  return { code: error.code, text: error.message };
}

export function isSameRefusal(ours: Refusal | undefined, expected: Refusal | undefined): boolean {
  if (ours === undefined || expected === undefined) return ours === expected;
  return ours.code === expected.code && expected.text !== '' && ours.text.includes(expected.text);
}

export function describeRefusal(refusal: Refusal | undefined): string {
  return refusal === undefined ? 'no refusal' : `${refusal.code} ${JSON.stringify(refusal.text)}`;
}
