// Handles values that may be promises. Users give them wherever a function of theirs may be asynchronous.

/** A value, or a promise of it. */
export type Awaitable<T> = T | PromiseLike<T>;

/** True for promises and other thenables. Never throws, though a user's value may throw on any access. */
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
 * Catches the promises in a refused value and in its members, `depth` levels down. Nobody awaits them, and a rejected one would
 * end the process.
 */
export function disownPromises(value: unknown, depth = 1): void {
  if (isPromiseLike(value)) ignore(value);
  else if (depth > 0 && typeof value === 'object' && value !== null && !ArrayBuffer.isView(value)) {
    for (const member of membersOf(value)) disownPromises(member, depth - 1);
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
