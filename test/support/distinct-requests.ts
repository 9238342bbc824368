// What loads send: no two of their requests are alike, or an answer that belongs to another request would pass unseen. Each answer
// is held whole against its own request.

/** Sizes of a request in values: most are small, some are about what a connection copies and what it sends by reference. */
const USUAL_SIZES = 48;
const LARGE_EVERY = 61;
const LARGE_SIZES = [1023, 1024, 1025, 4095, 4096, 4097, 16_384] as const;
const LONGEST_ID = 300;

export interface DistinctRequest {
  readonly x: Float32Array;
  readonly options: {
    readonly requestId: string;
    readonly parameters: Readonly<Record<string, string | number>>;
    readonly headers: Readonly<Record<string, string>>;
  };
}

/** The request with this number; `size` is how many values it has. Default: another one each time. */
export function distinctRequest(number: number, size: number = sizeOf(number)): DistinctRequest {
  const x = new Float32Array(size);
  for (let i = 0; i < size; i++) x[i] = Math.fround(number + i / 7);
  const filling = String(number).padStart(1 + ((number * 7) % LONGEST_ID), '.');
  return {
    x,
    options: {
      requestId: `${number} ${filling}`,
      parameters: { number, filling },
      headers: { 'x-number': String(number).padStart(1 + ((number * 3) % LONGEST_ID), '0') },
    },
  };
}

function sizeOf(number: number): number {
  if (number % LARGE_EVERY !== LARGE_EVERY - 1) return 1 + (number % USUAL_SIZES);
  return LARGE_SIZES[Math.floor(number / LARGE_EVERY) % LARGE_SIZES.length]!;
}

/** What {@link answerOf} is to give for a request: its values, and what only its parameters say. */
export function expectOwnAnswer({ x, options: { parameters } }: DistinctRequest, answer: DistinctAnswer): void {
  const { number } = parameters;
  const got = answer.x.data;
  if (got.length !== x.length) throw new Error(`request ${number} got ${got.length} values, expected ${x.length}`);
  for (let i = 0; i < x.length; i++) {
    const expected = Math.fround(x[i]! + keyOf(parameters));
    if (got[i] !== expected) throw new Error(`request ${number} got ${got[i]} as value ${i}, expected ${expected}`);
  }
}

interface DistinctAnswer {
  readonly x: { readonly data: ArrayLike<number> };
}

/** What a callable answers a distinct request with. */
export function answerOf(request: {
  readonly inputs: { readonly x: { readonly data: Float32Array } };
  readonly parameters: Readonly<Record<string, unknown>>;
}): { readonly x: Float32Array } {
  const key = keyOf(request.parameters);
  return { x: request.inputs.x.data.map((value) => value + key) };
}

/** Follows from all parameters. */
function keyOf({ number, filling }: Readonly<Record<string, unknown>>): number {
  return ((Number(number) % 1000) + String(filling).length) / 16;
}
