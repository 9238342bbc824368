// Values that may be promises: users give them wherever a function of theirs may be asynchronous.

/** A value, or a promise of it. */
export type Awaitable<T> = T | PromiseLike<T>;

/** True for promises and other thenables. Never throws: values of users' may do so when they are asked for anything. */
export function isPromiseLike(value: unknown): value is PromiseLike<unknown> {
  try {
    return (
      typeof value === 'object' && value !== null && typeof (value as { readonly then?: unknown }).then === 'function'
    );
  } catch {
    return false;
  }
}

/**
 * For a value that is refused: promises in it would be nobody's, and one that is rejected would end the process. Looks
 * at the value and at its members.
 */
export function disownPromises(value: unknown): void {
  if (isPromiseLike(value)) ignore(value);
  else if (typeof value === 'object' && value !== null && !ArrayBuffer.isView(value)) {
    for (const member of membersOf(value)) if (isPromiseLike(member)) ignore(member);
  }
}

function membersOf(value: object): readonly unknown[] {
  try {
    return Object.values(value);
  } catch {
    return [];
  }
}

function ignore(promise: PromiseLike<unknown>): void {
  Promise.resolve(promise).catch(() => undefined);
}
