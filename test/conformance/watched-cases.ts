// Recorded cases that remember which of their members are read, so that nothing that a recording holds is overlooked:
// what no replay reads has to be named in unread-members.ts, with the reason.

/** Members whose own members have names that are data. */
const MAPS = /(^|\.)(answers|data|inputs|args|named|returns\[\])$/;

export type Unread = ReadonlyMap<string, ReadonlySet<object>>;

export class WatchedCases<Case extends object> {
  readonly cases: readonly Case[];
  readonly #recorded: readonly Case[];
  readonly #read = new WeakMap<object, Set<string>>();

  constructor(recorded: readonly Case[]) {
    this.#recorded = recorded;
    this.cases = recorded.map((testCase) => this.#watched(testCase));
  }

  /** The members that were not read, with the cases that hold them; of what was not read at all only the outermost. */
  unread(): Unread {
    const found = new Map<string, Set<object>>();
    for (const testCase of this.#recorded) {
      for (const path of this.#unreadOf(testCase, '')) found.set(path, (found.get(path) ?? new Set()).add(testCase));
    }
    return found;
  }

  #watched<T extends object>(value: T): T {
    const read = new Set<string>();
    this.#read.set(value, read);
    const members = new Map<string, unknown>();
    return new Proxy(value, {
      get: (target, name, receiver) => {
        const member: unknown = Reflect.get(target, name, receiver);
        if (typeof name === 'symbol' || !Object.hasOwn(target, name)) return member;
        read.add(name);
        if (typeof member !== 'object' || member === null) return member;
        if (!members.has(name)) members.set(name, this.#watched(member));
        return members.get(name);
      },
    });
  }

  #unreadOf(value: object, path: string): readonly string[] {
    const read = this.#read.get(value);
    if (read === undefined) return [path];
    return Object.entries(value).flatMap(([name, member]: [string, unknown]) => {
      // What is not there is nothing to read.
      if (member === null) return [];
      const inner = Array.isArray(value) ? `${path}[]` : [path, MAPS.test(path) ? '*' : name].filter(Boolean).join('.');
      if (typeof member !== 'object' || Object.keys(member as object).length === 0)
        return read.has(name) ? [] : [inner];
      return this.#unreadOf(member as object, inner);
    });
  }
}
