/**
 * What a request says of the sequence that it belongs to. A model with `sequenceBatching` keeps the sequence together. With any
 * other, such a request runs like all others, and what the sequence means is the callable's business.
 */
export interface RequestSequence {
  /** The id that the requests of a sequence share. Beyond 2^53 a bigint; 0 or '' where the request gives none. */
  readonly id: number | bigint | string;
  /** The request is the first of its sequence. */
  readonly start: boolean;
  /** The request is the last of its sequence. */
  readonly end: boolean;
  /** The object that `state` of `sequenceBatching` made for the sequence; undefined without such a function. */
  readonly state?: unknown;
}
