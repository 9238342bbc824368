// The options of Node for a thread that runs users' code. What the process preloads with `--import` or `--require`, such as a
// tracer, belongs in such a thread too.

/** Flags with which no thread starts: they are about a program that is given as text. */
const OF_TEXT = /^--input-type(=|$)/;

/** `given`: the user's own flags. Undefined: Node gives the thread all flags of the process, or leaves them out where a thread has none. */
export function threadFlags(
  given?: readonly string[],
  ofProcess: readonly string[] = process.execArgv,
): string[] | undefined {
  if (given !== undefined) return [...given];
  // A list must not name flags of the whole process, such as V8's. So here the thread gets none.
  return ofProcess.some((flag) => OF_TEXT.test(flag)) ? [] : undefined;
}
