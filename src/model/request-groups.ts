// What `groupByKeys` hands to whatever runs a decoupled model's callable: each group of requests with steps of
// its own, so that one group neither waits for another nor fails with it.

const BRAND = Symbol.for('tstriton.RequestGroups');

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
    return typeof value === 'object' && value !== null && BRAND in value;
  }
}
Object.defineProperty(RequestGroups.prototype, BRAND, { value: true });
