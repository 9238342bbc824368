// What `stream` hands to whatever runs a decoupled model's callable: one stream of results per request, each
// with its own end and its own failure.

const BRAND = Symbol.for('tstriton.RequestStreams');

/** Results of one request as they come: an iterable, a promise of one, or a function's failure to make one. */
export type RequestStream = () => unknown;

export class RequestStreams {
  readonly streams: readonly RequestStream[];

  constructor(streams: readonly RequestStream[]) {
    this.streams = streams;
  }

  static is(value: unknown): value is RequestStreams {
    return typeof value === 'object' && value !== null && BRAND in value;
  }
}
Object.defineProperty(RequestStreams.prototype, BRAND, { value: true });
