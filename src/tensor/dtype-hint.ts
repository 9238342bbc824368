// Suggests the dtype for another library's name. numpy has several names for most of its types, and we have one:
// `object`, `bytes_` and `str_` are in PyTriton's own examples.

/** numpy's aliases, Python's types and one-letter codes, torch's names; in lower case. */
const MEANT: Readonly<Record<string, readonly string[]>> = {
  object: ['bytes', 'string'],
  object_: ['bytes', 'string'],
  o: ['bytes', 'string'],
  bytes_: ['bytes'],
  bytes0: ['bytes'],
  string_: ['bytes'],
  s: ['bytes'],
  buffer: ['bytes', 'uint8'],
  str: ['string'],
  str_: ['string'],
  str0: ['string'],
  unicode: ['string'],
  unicode_: ['string'],
  u: ['string'],
  bool_: ['bool'],
  bool8: ['bool'],
  boolean: ['bool'],
  byte: ['int8'],
  ubyte: ['uint8'],
  uint8clampedarray: ['uint8'],
  short: ['int16'],
  ushort: ['uint16'],
  intc: ['int32'],
  uintc: ['uint32'],
  int: ['int64', 'int32'],
  int_: ['int64'],
  intp: ['int64'],
  long: ['int64'],
  longlong: ['int64'],
  bigint: ['int64'],
  uint: ['uint64', 'uint32'],
  uintp: ['uint64'],
  ulong: ['uint64'],
  ulonglong: ['uint64'],
  half: ['float16'],
  single: ['float32'],
  float: ['float32', 'float64'],
  number: ['float32', 'float64'],
  float_: ['float64'],
  double: ['float64'],
  fp16: ['float16'],
  fp32: ['float32'],
  fp64: ['float64'],
  bf16: ['bfloat16'],
  f2: ['float16'],
  f4: ['float32'],
  f8: ['float64'],
  i1: ['int8'],
  i2: ['int16'],
  i4: ['int32'],
  i8: ['int64'],
  u1: ['uint8'],
  u2: ['uint16'],
  u4: ['uint32'],
  u8: ['uint64'],
  b1: ['bool'],
};

/** `: use 'float32'`, for a message; empty when there is nothing to go by. */
export function dtypeHint(like: unknown, known: readonly string[]): string {
  const name = typeof like === 'function' ? like.name : like;
  if (typeof name !== 'string') return '';
  const bare = name
    .toLowerCase()
    .replace(/^(np|numpy|torch|tf|jnp)\./, '')
    .replace(/^type_/, '')
    .replace(/^[<>=|]/, '');
  const meant = known.includes(bare) ? [bare] : Object.hasOwn(MEANT, bare) ? MEANT[bare] : undefined;
  return meant === undefined ? '' : `: use ${meant.map((dtype) => `'${dtype}'`).join(' or ')}`;
}
