// Joins several signals into one for as long as an action takes, and leaves no listener on signals that live longer.
// (AbortSignal.any is not in every Node 20.)

import { followSignal } from './follow-signal.js';

/** A signal that aborts with the first of these, until it is released. None and a single one are given back as they are. */
export function joinSignals(signals: readonly (AbortSignal | undefined)[]): {
  readonly signal: AbortSignal | undefined;
  readonly release: () => void;
} {
  const given = signals.filter((signal) => signal !== undefined);
  if (given.length < 2) return { signal: given[0], release: () => undefined };
  const controller = new AbortController();
  const abort = () => controller.abort(given.find(({ aborted }) => aborted)?.reason);
  if (given.some(({ aborted }) => aborted)) abort();
  const followed = given.map((signal) => followSignal(signal, abort));
  const release = () => {
    for (const unfollow of followed) unfollow();
  };
  return { signal: controller.signal, release };
}
