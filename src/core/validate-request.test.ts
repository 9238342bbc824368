import { describe, expect, it } from 'vitest';

import { growth, HARDLY_MORE_THAN_LINEAR } from '../../test/support/growth.js';
import { inferRequest, wireTensor } from '../../test/support/infer-requests.js';
import { TritonError } from '../errors.js';
import { completeModelConfig } from '../model/complete-model.js';
import type { InferTensor, ModelInferRequest } from '../model/exchange.js';
import { finishPaced, type PacedWork } from '../pacing/paced-work.js';
import type { TensorSpecs } from '../model/tensor-spec.js';
import type { Room } from './room.js';
import { inputsToCount, validateContents } from './validate-contents.js';
import { validateRequest } from './validate-request.js';

const FLOATS = { a: { dtype: 'float32', shape: [2] }, b: { dtype: 'float32', shape: [-1] } } as const;
const WITH_OPTIONAL = {
  a: { dtype: 'float32', shape: [2] },
  b: { dtype: 'float32', shape: [2], optional: true },
  c: { dtype: 'float32', shape: [2] },
} as const;
const BYTES = { x: { dtype: 'bytes', shape: [-1] } } as const;
const NOTE =
  ' NOTE: Setting a non-zero max_batch_size in the model config requires a batch dimension to be prepended to each input shape. ' +
  'If you want to specify the full shape including the batch dim in your input dims config, try setting max_batch_size to zero. ' +
  'See the model configuration docs for more info on max_batch_size.';

function floats(name: string, shape: readonly number[]): InferTensor {
  return wireTensor(
    name,
    'float32',
    new Float32Array(
      Math.max(
        0,
        shape.reduce((count, dim) => count * dim, 1),
      ),
    ),
    shape,
  );
}

/** A tensor with these bytes, whatever its shape says. */
function raw(
  name: string,
  datatype: InferTensor['datatype'],
  shape: readonly number[],
  bytes: readonly number[],
): InferTensor {
  return { name, datatype, shape, bytes: Uint8Array.from(bytes) };
}

interface Model {
  readonly inputs: TensorSpecs;
  readonly maxBatchSize?: number;
  readonly batching?: boolean;
}

function validate({ inputs, maxBatchSize = 4, batching = true }: Model, request: Partial<ModelInferRequest>) {
  const outputs = { y: { dtype: 'float32', shape: [-1] } } as const;
  const config = completeModelConfig({ modelName: 'm', inputs, outputs, config: { maxBatchSize, batching } }, 1);
  const given = inferRequest(request);
  const validated = validateRequest(given, config);
  finishPaced(validateContents(given, inputsToCount(validated) ?? [], { config }));
  return validated;
}

/** The refusal of a request; `id` is 7 throughout. */
function refusal(model: Model, inputs: readonly InferTensor[], outputs: readonly string[] = []): string {
  try {
    validate(model, { id: '7', inputs, outputs });
  } catch (error) {
    if (TritonError.is(error)) return `${error.code} ${error.message}`;
    throw error;
  }
  return 'accepted';
}

const RID = 'INVALID_ARG [request id: 7] ';
const GOOD = [floats('a', [1, 2]), floats('b', [1, 3])];

describe('validateRequest', () => {
  it('hands on the inputs of a good request as they came, and counts its rows', () => {
    const inputs = [floats('a', [3, 2]), floats('b', [3, 5])];
    const validated = validate({ inputs: FLOATS }, { inputs, outputs: ['y'] });
    expect(validated).toEqual({ inputs, rows: 3 });
    expect(validated.inputs[0]).toBe(inputs[0]);
  });

  it('puts inputs into the order of their declaration', () => {
    const [a, b] = GOOD;
    expect(validate({ inputs: FLOATS }, { inputs: [b!, a!] }).inputs).toEqual([a, b]);
  });

  it('leaves a gap for an optional input that was not sent', () => {
    const [a, b, c] = [floats('a', [2, 2]), floats('b', [2, 2]), floats('c', [2, 2])];
    expect(validate({ inputs: WITH_OPTIONAL }, { inputs: [c, a] })).toEqual({ inputs: [a, undefined, c], rows: 2 });
    expect(validate({ inputs: WITH_OPTIONAL }, { inputs: [c, b, a] })).toEqual({ inputs: [a, b, c], rows: 2 });
  });

  it('counts one row for a model without a batch axis and for a request without inputs', () => {
    const model = { inputs: { a: { dtype: 'float32', shape: [-1, 2] } }, batching: false } as const;
    expect(validate(model, { inputs: [floats('a', [3, 2])] }).rows).toBe(1);
    expect(validate({ inputs: { a: { dtype: 'float32', shape: [2], optional: true } } }, {})).toEqual({
      inputs: [undefined],
      rows: 1,
    });
    expect(validate({ inputs: {} }, {})).toEqual({ inputs: [], rows: 1 });
  });

  it('takes a dimension of zero elements', () => {
    expect(refusal({ inputs: FLOATS }, [floats('a', [1, 2]), floats('b', [1, 0])])).toBe('accepted');
  });

  it('says so when a request has no id', () => {
    expect(() => validate({ inputs: FLOATS }, { inputs: [floats('a', [5, 2]), floats('b', [5, 1])] })).toThrow(
      "[request id: <id_unknown>] inference request batch-size must be <= 4 for 'm'",
    );
  });
});

describe("validateRequest refuses, in Triton's words,", () => {
  const model = { inputs: FLOATS };
  it.each([
    [
      'an output that the model does not have',
      model,
      GOOD,
      ['nope'],
      "INVALID_ARG unexpected inference output 'nope' for model 'm'",
    ],
    [
      'too few inputs',
      model,
      [GOOD[0]!],
      [],
      `${RID}expected 2 inputs but got 1 inputs for model 'm'. Got input(s) ['a'], but missing required input(s) ['b']. Please provide all required input(s).`,
    ],
    [
      'no inputs',
      model,
      [],
      [],
      `${RID}expected 2 inputs but got 0 inputs for model 'm'. Got input(s) [], but missing required input(s) ['a','b']. Please provide all required input(s).`,
    ],
    [
      'too many inputs',
      model,
      [...GOOD, floats('c', [1])],
      [],
      `${RID}expected 2 inputs but got 3 inputs for model 'm'. Got input(s) ['a','b','c'], but missing required input(s) []. Please provide all required input(s).`,
    ],
    [
      'too few inputs of a model with optional ones',
      { inputs: WITH_OPTIONAL },
      [floats('a', [1, 2])],
      [],
      `${RID}expected number of inputs between 2 and 3 but got 1 inputs for model 'm'. Got input(s) ['a'], but missing required input(s) ['c']. Please provide all required input(s).`,
    ],
    [
      'an optional input in place of a required one',
      { inputs: WITH_OPTIONAL },
      [floats('a', [1, 2]), floats('b', [1, 2])],
      [],
      `${RID}expected number of inputs between 2 and 3 but got 2 inputs for model 'm'. Got input(s) ['a','b'], but missing required input(s) ['c']. Please provide all required input(s).`,
    ],
    [
      'an input that the model does not have',
      model,
      [GOOD[0]!, floats('x', [1])],
      [],
      "INVALID_ARG unexpected inference input 'x' for model 'm'",
    ],
    [
      'an input without a batch dimension',
      model,
      [floats('a', []), GOOD[1]!],
      [],
      `${RID}input 'a' has no shape but model requires batch dimension for 'm'`,
    ],
    [
      'inputs that disagree on the batch',
      model,
      [floats('a', [1, 2]), floats('b', [2, 3])],
      [],
      `${RID}input 'b' batch size does not match other inputs for 'm'`,
    ],
    [
      'a batch that is too large',
      model,
      [floats('a', [5, 2]), floats('b', [5, 1])],
      [],
      `${RID}inference request batch-size must be <= 4 for 'm'`,
    ],
    [
      'a batch of no rows',
      model,
      [floats('a', [0, 2]), floats('b', [0, 1])],
      [],
      `${RID}inference request batch-size must be >= 1 for 'm', got 0`,
    ],
    [
      'another datatype',
      model,
      [raw('a', 'INT32', [1, 2], [0, 0, 0, 0, 0, 0, 0, 0]), GOOD[1]!],
      [],
      `${RID}inference input 'a' data-type is 'INT32', but model 'm' expects 'FP32'`,
    ],
    [
      'an open dimension',
      model,
      [GOOD[0]!, floats('b', [1, -1])],
      [],
      `${RID}All input dimensions should be specified for input 'b' for model 'm', got [1,-1]`,
    ],
    [
      'an open batch dimension',
      model,
      [floats('a', [-1, 2]), floats('b', [-1, 2])],
      [],
      `${RID}All input dimensions should be specified for input 'a' for model 'm', got [-1,2]`,
    ],
    [
      'another dimension',
      model,
      [floats('a', [1, 3]), GOOD[1]!],
      [],
      `${RID}unexpected shape for input 'a' for model 'm'. Expected [-1,2], got [1,3].${NOTE}`,
    ],
    [
      'another rank',
      model,
      [GOOD[0]!, floats('b', [1])],
      [],
      `${RID}unexpected shape for input 'b' for model 'm'. Expected [-1,-1], got [1].${NOTE}`,
    ],
    [
      'too few bytes',
      model,
      [raw('a', 'FP32', [1, 2], [0, 0, 0, 0, 0, 0, 0]), GOOD[1]!],
      [],
      `${RID}input byte size mismatch for input 'a' for model 'm'. Expected 8, got 7`,
    ],
    [
      'too many bytes',
      model,
      [raw('a', 'FP32', [1, 2], [0, 0, 0, 0, 0, 0, 0, 0, 0]), GOOD[1]!],
      [],
      `${RID}input byte size mismatch for input 'a' for model 'm'. Expected 8, got 9`,
    ],
    ['an input given twice', model, [GOOD[0]!, GOOD[0]!], [], `${RID}input 'a' already exists in request`],
    ['an output asked for twice', model, GOOD, ['y', 'y'], `${RID}output 'y' already exists in request`],
  ] as const)('%s', (_, given, inputs, outputs, expected) => {
    expect(refusal(given, inputs, outputs)).toBe(expected);
  });

  it('another shape for a model without a batch axis, without the note on it', () => {
    const fixed = { inputs: { a: { dtype: 'float32', shape: [-1, 4] } }, batching: false } as const;
    expect(refusal(fixed, [floats('a', [2, 3])])).toBe(
      `${RID}unexpected shape for input 'a' for model 'm'. Expected [-1,4], got [2,3]. `,
    );
    expect(refusal(fixed, [floats('a', [])])).toBe(
      `${RID}unexpected shape for input 'a' for model 'm'. Expected [-1,4], got []. `,
    );
  });

  it.each([
    ['a product beyond 64 bits', [1, 2 ** 40, 2 ** 40]],
    ['a product whose bytes nobody can count', [1, 2 ** 30, 2 ** 30]],
    ['a dimension beyond 2^53 that a zero hides', [1, 2 ** 60, 0]],
    ['a zero before such a dimension', [1, 0, 2 ** 60]],
  ])('%s', (_, shape) => {
    const open = { inputs: { a: { dtype: 'float32', shape: [-1, -1] } } } as const;
    expect(refusal(open, [raw('a', 'FP32', shape, [])])).toBe(
      `${RID}invalid shape for input 'a': shape [${shape.map(BigInt).join(',')}] causes total element count to exceed maximum size of 9223372036854775807`,
    );
  });
});

describe('validateRequest and BYTES', () => {
  const model = { inputs: BYTES };
  it.each([
    ['elements that fit', [1, 2], [2, 0, 0, 0, 1, 2, 0, 0, 0, 0], 'accepted'],
    ['no elements for no elements', [1, 0], [], 'accepted'],
    [
      'too few',
      [1, 2],
      [1, 0, 0, 0, 65],
      `${RID}expected 2 string elements for inference input 'x' for model 'm', got 1`,
    ],
    ['none', [1, 2], [], `${RID}expected 2 string elements for inference input 'x' for model 'm', got 0`],
    [
      'too many',
      [1, 1],
      [0, 0, 0, 0, 0, 0, 0, 0],
      `${RID}unexpected number of string elements 2 for inference input 'x' for model 'm', expecting 1`,
    ],
    [
      'a cut length',
      [1, 2],
      [1, 0, 0, 0, 65, 1, 0],
      `${RID}incomplete string length indicator for inference input 'x' for model 'm', expecting 4 bytes but only 2 bytes available. Please make sure the string length indicator is in one buffer.`,
    ],
    [
      'a cut element',
      [1, 1],
      [3, 0, 0, 0, 65, 66],
      "INVALID_ARG incomplete string data for inference input 'x', expecting string of length 3 but only 2 bytes available",
    ],
    [
      'a length beyond all memory',
      [1, 1],
      [255, 255, 255, 255, 65],
      "INVALID_ARG incomplete string data for inference input 'x', expecting string of length 4294967295 but only 1 bytes available",
    ],
  ])('%s', (_, shape, bytes, expected) => {
    expect(refusal(model, [raw('x', 'BYTES', shape, bytes)])).toBe(expected);
  });

  it('takes any bytes for a bytes input, but only UTF-8 for a string input', () => {
    const invalid = `${RID}inference input 'x' holds strings, but an element is not valid UTF-8; declare it as 'bytes' to take any bytes`;
    const strings = { inputs: { x: { dtype: 'string', shape: [-1] } } } as const;
    const umlaut = [0xc3, 0xbc];
    expect(refusal(model, [raw('x', 'BYTES', [1, 1], [1, 0, 0, 0, 0xff])])).toBe('accepted');
    expect(refusal(strings, [raw('x', 'BYTES', [1, 1], [1, 0, 0, 0, 0xff])])).toBe(invalid);
    expect(refusal(strings, [raw('x', 'BYTES', [1, 1], [2, 0, 0, 0, ...umlaut])])).toBe('accepted');
    expect(refusal(strings, [raw('x', 'BYTES', [1, 2], [1, 0, 0, 0, umlaut[0]!, 1, 0, 0, 0, umlaut[1]!])])).toBe(
      invalid,
    );
    // The length 200 is no ASCII byte: such elements go the long way.
    expect(refusal(strings, [raw('x', 'BYTES', [1, 1], [200, 0, 0, 0, ...new Array<number>(200).fill(65)])])).toBe(
      'accepted',
    );
    // The encoding of half a surrogate pair.
    expect(refusal(strings, [raw('x', 'BYTES', [1, 1], [3, 0, 0, 0, 0xed, 0xa0, 0x80])])).toBe(invalid);
  });
});

describe('validateContents', () => {
  const bytesModel = completeModelConfig(
    {
      modelName: 'm',
      inputs: { x: { dtype: 'string', shape: [-1] }, z: { dtype: 'bytes', shape: [-1], optional: true } },
      outputs: { y: { dtype: 'int8', shape: [1] } },
      config: { batching: false },
    },
    1,
  );
  const elements = (name: string, count: number, text = ''): InferTensor => {
    const element = Buffer.alloc(4 + Buffer.byteLength(text));
    element.writeUInt32LE(element.length - 4);
    element.write(text, 4);
    return { name, datatype: 'BYTES', shape: [count], bytes: Buffer.alloc(count * element.length, element) };
  };
  const checkIn = (room: Room | undefined, ...inputs: readonly InferTensor[]): PacedWork<number> => {
    const request = inferRequest({ inputs });
    validateRequest(request, bytesModel);
    return validateContents(request, inputs, { config: bytesModel, room });
  };
  const check = (...inputs: readonly InferTensor[]) => checkIn(undefined, ...inputs);
  const pausesOf = (work: PacedWork<number>) => {
    let pauses = 0;
    while (work.next().done !== true) pauses++;
    return pauses;
  };

  it('takes time in proportion to the elements, with pauses', () => {
    const few = pausesOf(check(elements('x', 100_000, 'é')));
    const many = pausesOf(check(elements('x', 1_000_000, 'é')));
    expect(few).toBeGreaterThan(5);
    expect(many).toBeGreaterThan(9 * few);
    expect(many).toBeLessThan(11 * few);
    expect(pausesOf(check(elements('x', 100)))).toBe(0);
  });

  it('takes time in proportion to the bytes of one element', () => {
    expect(pausesOf(check(elements('x', 1, 'é'.repeat(8 << 20))))).toBeGreaterThan(10);
  });

  it('pauses on the way through elements that may be any bytes', () => {
    const million = pausesOf(check(elements('x', 0), elements('z', 1_000_000)));
    // Two bytes an element, and 65 536 between two pauses.
    expect(million).toBeGreaterThan(25);
    expect(million).toBeLessThan(35);
    expect(pausesOf(check(elements('x', 0), elements('z', 20_000)))).toBe(0);
  });

  it('holds each input against its own declaration', () => {
    const bad = (name: string) => raw(name, 'BYTES', [1], [1, 0, 0, 0, 0xff]);
    expect(() => finishPaced(check(elements('x', 1, 'é'), bad('z')))).not.toThrow();
    expect(() => finishPaced(check(bad('x'), elements('z', 1)))).toThrow("inference input 'x' holds strings, but");
  });

  it('limits the elements of all inputs together by what they cost', () => {
    const held: number[] = [];
    const room = { largest: 1 << 20, take: (bytes: number) => held.push(bytes) < 3, give: () => undefined };
    const checked = (...inputs: InferTensor[]) => finishPaced(checkIn(room, ...inputs));
    // An element takes 64 bytes of a string, 128 of bytes.
    expect(checked(elements('x', 10_000))).toBe(640_000);
    expect(checked(elements('x', 8_000), elements('z', 1_000))).toBe(640_000);
    expect(held).toEqual([640_000, 640_000]);
    const refused = expect.objectContaining({
      code: 'INVALID_ARG',
      message: expect.stringMatching(
        /^expected a request with at most 15\d\d\d elements of datatype BYTES, got more: each takes (64|128) bytes of maxInflightBytes$/,
      ) as unknown,
    });
    expect(() => checked(elements('x', 17_000))).toThrow(refused);
    expect(() => checked(elements('x', 15_000), elements('z', 2_000))).toThrow(refused);
    expect(held).toHaveLength(2);
    expect(() => checked(elements('x', 12_000))).toThrow(
      expect.objectContaining({
        code: 'UNAVAILABLE',
        message:
          'there is no room for 12000 elements of datatype BYTES beside what all clients hold (maxInflightBytes): try again later',
      }),
    );
    // A few elements always have room.
    expect(checked(elements('x', 1_000))).toBe(0);
  });
});

describe('validateRequest with very many', () => {
  const many = Array.from({ length: 4000 }, (_, i) => `t${i}`);
  const specs = Object.fromEntries(many.map((name) => [name, { dtype: 'uint8', shape: [1] }] as const));
  const config = completeModelConfig(
    { modelName: 'm', inputs: specs as TensorSpecs, outputs: specs as TensorSpecs, config: { maxBatchSize: 1 } },
    1,
  );
  const tensors = many.map((name) => raw(name, 'UINT8', [1, 1], [0]));

  it('inputs and outputs looks each of them up once', () => {
    let reads = 0;
    const counted = [...tensors].reverse().map(({ name, ...tensor }) => ({
      ...tensor,
      get name() {
        reads++;
        return name;
      },
    }));
    const request = inferRequest({ inputs: counted, outputs: [...many].reverse() });
    expect(validateRequest(request, config).inputs.map((input) => input!.name)).toEqual(many);
    expect(reads).toBeLessThan(10 * many.length);
  });

  it('unknown inputs names as many as a message can hold', () => {
    const long = Array.from({ length: 4000 }, (_, i) => raw(`${i}${'x'.repeat(1000)}`, 'UINT8', [1], [0]));
    expect(refusal({ inputs: FLOATS }, long).length).toBeLessThan(6000);
    expect(refusal({ inputs: FLOATS }, long)).toContain("x',…]");
  });
});

describe('validateRequest and requested outputs', () => {
  it.each([1, 2, 15, 16, 17, 40])('knows each of %d declared outputs, and no others', (count) => {
    const names = Array.from({ length: count }, (_, i) => `y${i}`);
    const outputs = Object.fromEntries(names.map((name) => [name, { dtype: 'float32', shape: [-1] } as const]));
    const inputs = { a: { dtype: 'float32', shape: [2] } } as const;
    const config = completeModelConfig({ modelName: 'm', inputs, outputs, config: { batching: false } }, 1);
    const asking = (...asked: readonly string[]) =>
      validateRequest(inferRequest({ inputs: [floats('a', [2])], outputs: asked }), config);
    for (const name of names) expect(() => asking(name)).not.toThrow();
    expect(() => asking(...names)).not.toThrow();
    expect(() => asking(...names, 'z')).toThrow("unexpected inference output 'z' for model 'm'");
  });
});

describe('validateRequest with several mistakes', () => {
  const model = { inputs: FLOATS };
  const badType = raw('a', 'INT32', [1, 2], []);
  it.each([
    ['an output asked for twice before an unknown one', GOOD, ['nope', 'y', 'y'], "output 'y' already exists"],
    ['an input given twice before an unknown output', [GOOD[0]!, GOOD[0]!], ['nope'], "input 'a' already exists"],
    ['an unknown output before the number of inputs', [GOOD[0]!], ['nope'], "unexpected inference output 'nope'"],
    ['the number of inputs before an unknown one', [floats('x', [1])], [], 'expected 2 inputs but got 1'],
    [
      'an unknown input before the batch dimension',
      [floats('a', []), floats('x', [1])],
      [],
      "unexpected inference input 'x'",
    ],
    ['the batch dimension before the datatype', [badType, floats('b', [])], [], "input 'b' has no shape"],
    [
      'the batch size before the datatype',
      [raw('a', 'INT32', [9, 2], []), floats('b', [9, 1])],
      [],
      'batch-size must be <= 4',
    ],
    ['the first input before the second', [badType, floats('b', [1, -1])], [], "input 'a' data-type is"],
    ['the datatype before the shape', [raw('a', 'INT32', [1, 9], []), GOOD[1]!], [], "input 'a' data-type is"],
    [
      'an open dimension before the shape',
      [floats('a', [1, -1, 2]), GOOD[1]!],
      [],
      'All input dimensions should be specified',
    ],
    ['the shape before the byte size', [raw('a', 'FP32', [1, 9], []), GOOD[1]!], [], 'unexpected shape'],
  ])('reports %s', (_, inputs, outputs, expected) => {
    expect(refusal(model, inputs, outputs)).toContain(expected);
  });

  it('looks through very many inputs once', () => {
    const grown = growth(250, (count, steps) => {
      const inputs = Array.from({ length: count }, (_, index) => steps.watch(floats(`i${index}`, [1])));
      return () => expect(refusal(model, inputs)).toContain(`expected 2 inputs but got ${count}`);
    });
    expect(grown).toBeLessThan(HARDLY_MORE_THAN_LINEAR);
  });
});
