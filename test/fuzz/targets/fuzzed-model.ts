// The model that fuzzed requests ask for, and what is true of every request that was taken for good.
import { inputsToCount, validateContents } from '../../../src/core/validate-contents.js';
import { validateRequest } from '../../../src/core/validate-request.js';
import { ERROR_CODES, TritonError } from '../../../src/errors.js';
import { completeModelConfig } from '../../../src/model/complete-model.js';
import type { ModelInferRequest } from '../../../src/model/exchange.js';
import { finishPaced } from '../../../src/pacing/paced-work.js';
import { DATATYPE_BYTE_SIZE, type Datatype } from '../../../src/tensor/dtype.js';
import { BytesScan } from '../../../src/tensor/raw.js';
import type { Random } from '../../support/random-life/random.js';
import { must } from '../fuzz-target.js';

export const INPUTS = { a: 'FP32', b: 'INT64', c: 'BYTES', d: 'BOOL', e: 'FP16' } as const satisfies Record<
  string,
  Datatype
>;

/** Shapes that the model takes, with a row. */
const SHAPES: Readonly<Record<keyof typeof INPUTS, readonly number[]>> = {
  a: [1, 3],
  b: [1, 2],
  c: [1, 2],
  d: [1, 2, 2],
  e: [1, 1],
};

/** Inputs as the model wants them, mostly. */
export function someInputs(
  random: Random,
): { readonly name: keyof typeof INPUTS; readonly datatype: Datatype; readonly shape: readonly number[] }[] {
  const names = (Object.keys(INPUTS) as (keyof typeof INPUTS)[]).filter((name) =>
    random.chance(name === 'a' ? 0.97 : 0.2),
  );
  if (random.chance(0.03)) names.push(random.of(names.length > 0 ? names : ['a']));
  return names.map((name) => ({
    name,
    datatype: random.chance(0.97) ? INPUTS[name] : random.of(Object.values(INPUTS)),
    shape: SHAPES[name],
  }));
}

export const MODEL = completeModelConfig(
  {
    modelName: 'm',
    inputs: {
      a: { dtype: 'float32', shape: [-1] },
      b: { dtype: 'int64', shape: [2], optional: true },
      c: { dtype: 'bytes', shape: [-1], optional: true },
      d: { dtype: 'bool', shape: [-1, -1], optional: true },
      e: { dtype: 'float16', shape: [1], optional: true },
    },
    outputs: { y: { dtype: 'float32', shape: [-1] } },
  },
  1,
);

/** The result, or the error when it is one of ours that blames the client. */
export function outcomeOf<T>(run: () => T, codes: readonly string[] = ['INVALID_ARG', 'UNSUPPORTED']): T | TritonError {
  try {
    return run();
  } catch (error) {
    if (!(error instanceof TritonError)) throw error;
    must(codes.includes(error.code) && ERROR_CODES.includes(error.code), () => `${error.code} ${error.message}`);
    return error;
  }
}

/** Whether the model takes the request; what it takes has exactly the bytes that its shapes say. */
export function isTaken(request: ModelInferRequest): boolean {
  const validated = outcomeOf(() => {
    const inputs = validateRequest(request, MODEL);
    const counted = inputsToCount(inputs);
    if (counted !== undefined) finishPaced(validateContents(request, counted, { config: MODEL }));
    return inputs;
  });
  if (validated instanceof TritonError) return false;
  must(validated.rows >= 1 && validated.rows <= MODEL.maxBatchSize, () => `${validated.rows} rows`);
  for (const input of validated.inputs) {
    if (input === undefined) continue;
    const count = input.shape.reduce((product, dim) => product * dim, 1);
    const size = DATATYPE_BYTE_SIZE[input.datatype];
    if (input.datatype === 'BYTES') {
      const scan = new BytesScan(input.bytes);
      scan.advance(Infinity);
      must(scan.fault === undefined && scan.count === count, () => `${scan.count} elements of ${count}`);
    } else {
      must(input.bytes.byteLength === count * size, () => `${input.bytes.byteLength} bytes for ${String(input.shape)}`);
    }
    must(input.shape[0] === validated.rows, () => `${String(input.shape)} with ${validated.rows} rows`);
  }
  return true;
}

/** One text for equal requests. */
export function requestText(request: ModelInferRequest): string {
  const { memory: _, ...rest } = request as ModelInferRequest & { readonly memory?: unknown };
  return JSON.stringify(rest, (_key, value: unknown) => {
    if (value instanceof Uint8Array) return Buffer.from(value).toString('hex');
    if (typeof value === 'bigint') return `${value}n`;
    if (typeof value === 'number' && !Number.isFinite(value)) return String(value);
    return (value as { type?: unknown; data?: unknown } | null)?.type === 'Buffer'
      ? Buffer.from((value as { data: number[] }).data).toString('hex')
      : value;
  });
}
