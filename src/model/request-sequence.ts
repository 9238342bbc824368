/**
 * What a request says of the sequence that it belongs to. No model here batches sequences, so that such a request runs
 * like any other; what the sequence means is the callable's business.
 */
export interface RequestSequence {
  /** What the requests of a sequence have in common. Beyond 2^53 a bigint; 0 or '' where the request gives none. */
  readonly id: number | bigint | string;
  /** The request is the first of its sequence. */
  readonly start: boolean;
  /** The request is the last of its sequence. */
  readonly end: boolean;
}
