// Decides who has a batch that was sent ahead: its host, which begins it, or the instance, which takes it back. Both ends
// share memory with one word for each such batch. The end that clears the word first has the batch.

/** Far more words than an instance is given batches ahead, so that each word is clear before it is used again. */
const WORDS = 1024;

export type ClaimWords = Int32Array<SharedArrayBuffer>;

export function claimWords(): ClaimWords {
  return new Int32Array(new SharedArrayBuffer(WORDS * Int32Array.BYTES_PER_ELEMENT));
}

/** Called by the instance before it sends batch number `claim`. Numbers are positive and follow each other. */
export function offer(words: ClaimWords, claim: number): void {
  Atomics.store(words, claim % words.length, claim);
}

/** Called by either end. Returns false when the other end has the batch. */
export function take(words: ClaimWords, claim: number): boolean {
  return Atomics.compareExchange(words, claim % words.length, claim, 0) === claim;
}
