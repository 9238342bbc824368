// Any number of calls may follow one AbortSignal: of a client, or of a batch whose callable calls other models for each row. Node
// warns of a leak at the eleventh listener, so each signal gets one listener from us, for as long as somebody follows it.

const FOLLOWERS = new WeakMap<AbortSignal, { readonly callbacks: Set<() => void>; readonly listener: () => void }>();

/** Calls back when the signal aborts, not if it has already. Returns the function that ends it. */
export function followSignal(signal: AbortSignal, callback: () => void): () => void {
  let entry = FOLLOWERS.get(signal);
  if (entry === undefined) {
    const callbacks = new Set<() => void>();
    const listener = () => {
      for (const each of callbacks) each();
    };
    entry = { callbacks, listener };
    FOLLOWERS.set(signal, entry);
    signal.addEventListener('abort', listener, { once: true });
  }
  const { callbacks, listener } = entry;
  callbacks.add(callback);
  return () => {
    if (!callbacks.delete(callback) || callbacks.size > 0) return;
    signal.removeEventListener('abort', listener);
    FOLLOWERS.delete(signal);
  };
}
