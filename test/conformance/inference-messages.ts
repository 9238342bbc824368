// Rules about the texts of refused inferences are the same over HTTP and gRPC; this is what they do to a text.

/**
 * Triton lists inputs in the order of a hash map and loses a bracket when none is missing. Ours come in the order
 * of the request.
 */
export function inRequestOrder(message: string, names: readonly string[]): string {
  const listed = /Got input\(s\) \[([^\]]*)\], but missing required input\(s\) (\[?)/.exec(message);
  if (listed === null) return message;
  const given = listed[1]!.split(',').map((name) => name.slice(1, -1));
  const sorted = given.toSorted((a, b) => names.indexOf(a) - names.indexOf(b)).map((name) => `'${name}'`);
  return message.replace(
    listed[0],
    `Got input(s) [${given[0] === '' ? '' : sorted.join(',')}], but missing required input(s) [`,
  );
}

/** Names the later of two inputs whose batch sizes differ, where Triton names either. */
export function laterInputDisagrees(message: string, names: readonly string[]): string {
  return message.replace(/input '[^']*'( batch size does not match other inputs)/, `input '${names.at(-1)}'$1`);
}

/** What a Python exception said, without the words around it and the lines of the server's files. */
export function withoutTraceback(message: string): string {
  return message.replace(
    /^Failed to process the request\(s\) for model '[^']*', message: \w+: (.*?) ?\n\nAt:\n[^]*$/,
    '$1',
  );
}

/** Text of a refused batch of no rows. */
export function emptyBatch(model: string): string {
  return `[request id: <id_unknown>] inference request batch-size must be >= 1 for '${model}', got 0`;
}

/** What is wrong with a request to `optional` that leaves out x. */
export const X_MISSING =
  "[request id: <id_unknown>] expected number of inputs between 1 and 2 but got 1 inputs for model 'optional'. " +
  "Got input(s) ['y'], but missing required input(s) ['x']. Please provide all required input(s).";
