// Which shape a flat list of elements has for a declared one: the generate extension sends no shapes. The rule is Triton's
// (server/src/http_server.cc, GenerateRequestClass): the innermost open axis takes what the fixed ones leave, others are 1.

/** Undefined when so many elements do not fit. `declared` is without the batch axis. */
export function generatedShape(
  declared: readonly number[],
  maxBatchSize: number,
  count: number,
): readonly number[] | undefined {
  const target = maxBatchSize > 0 ? [-1, ...declared] : [...declared];
  let rest = count;
  for (const dim of target) if (dim !== -1) rest /= dim;
  const open = target.lastIndexOf(-1);
  if (!Number.isInteger(rest) || (open < 0 && rest !== 1)) return undefined;
  return target.map((dim, axis) => (dim !== -1 ? dim : axis === open ? rest : 1));
}
