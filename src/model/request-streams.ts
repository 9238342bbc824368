// What decorators hand to whatever runs a decoupled model's callable, instead of steps for the whole batch: `stream` one
// stream of results per request, with its own end and its own failure; `groupByKeys` groups of requests, of which none
// waits for another or fails with it.

const STREAMS = Symbol.for('tstriton.RequestStreams');
const GROUPS = Symbol.for('tstriton.RequestGroups');

/** Results of one request as they come: an iterable, a promise of one, or a function's failure to make one. */
export type RequestStream = () => unknown;

export class RequestStreams {
  readonly streams: readonly RequestStream[];

  constructor(streams: readonly RequestStream[]) {
    this.streams = streams;
  }

  static is(value: unknown): value is RequestStreams {
    return typeof value === 'object' && value !== null && STREAMS in value;
  }
}
Object.defineProperty(RequestStreams.prototype, STREAMS, { value: true });

export interface RequestGroup {
  /** The places of the group's requests in the batch. */
  readonly members: readonly number[];
  /** Calls the callable for the group; steps, streams or groups in terms of its members, or a promise of them. */
  readonly start: () => unknown;
}

export class RequestGroups {
  readonly groups: readonly RequestGroup[];

  constructor(groups: readonly RequestGroup[]) {
    this.groups = groups;
  }

  static is(value: unknown): value is RequestGroups {
    return typeof value === 'object' && value !== null && GROUPS in value;
  }
}
Object.defineProperty(RequestGroups.prototype, GROUPS, { value: true });
