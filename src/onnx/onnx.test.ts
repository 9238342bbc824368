import { availableParallelism } from 'node:os';
import { pathToFileURL } from 'node:url';

import { describe, expect, it } from 'vitest';

import {
  addModel,
  ELEMENT_TYPES,
  identityModel,
  node,
  onnxModel,
  sequenceValue,
  tensorValue,
} from '../../test/support/onnx-builder.js';
import type { Dimension, ElementType } from '../../test/support/onnx-builder.js';
import { controlledModel, layeredModel, totalModel } from '../../test/support/recurrent-onnx.js';
import { temporaryFolder } from '../../test/support/temporary-files.js';
import { completeModelConfig } from '../model/complete-model.js';
import type { SequenceBatching } from '../model/sequence-batching.js';
import { onnx, type OnnxOptions } from './onnx.js';

const file = temporaryFolder();
const add = file('add.onnx', addModel());

function withShapes(input: readonly Dimension[] | undefined, output: readonly Dimension[] | undefined): string {
  return file(
    'shapes.onnx',
    onnxModel({
      nodes: [node('Identity', ['x'], ['y'])],
      inputs: [tensorValue('x', 'float32', input)],
      outputs: [tensorValue('y', 'float32', output)],
    }),
  );
}

describe('onnx', () => {
  it('declares what the file says, in its order', () => {
    expect(onnx(add)).toMatchObject({
      modelName: 'add',
      inputs: [
        { name: 'a', dtype: 'float32', shape: [4] },
        { name: 'b', dtype: 'float32', shape: [4] },
      ],
      outputs: [{ name: 'c', dtype: 'float32', shape: [4] }],
      config: { batching: true },
    });
  });

  it('is what bind takes', () => {
    const config = completeModelConfig(onnx(add, { modelName: 'M', config: { maxBatchSize: 16 } }), 1);
    expect(config).toMatchObject({ name: 'M', maxBatchSize: 16, inputs: [{ datatype: 'FP32' }, { datatype: 'FP32' }] });
  });

  it('takes a file: URL as well as a path', () => {
    expect(onnx(pathToFileURL(add)).modelName).toBe('add');
    expect(onnx(pathToFileURL(add).href).modelName).toBe('add');
    expect(() => onnx(new URL('https://example.com/add.onnx'))).toThrow('onnx takes the path of a file');
    expect(() => onnx('')).toThrow('onnx takes the path of a file, or a file: URL, got ""');
  });

  it.each([
    ['a symbolic first dimension', ['batch', 3], ['batch', 2], true],
    ['an open first dimension without a name', [null, 3], [-1, 2], true],
    ['a fixed first dimension', [1, 3], [1, 2], false],
    ['an output with a fixed first dimension', ['batch', 3], [10], false],
    ['an output of rank 0', ['batch', 3], [], false],
  ] as const)('reads from %s whether the model batches', (_what, input, output, batching) => {
    const model = onnx(withShapes(input, output));
    expect(model.config.batching).toBe(batching);
    const full = (shape: readonly Dimension[]) => shape.map((size) => (typeof size === 'number' ? size : -1));
    const [x, y] = [full(input), full(output)].map((shape) => (batching ? shape.slice(1) : shape));
    expect([model.inputs[0]!.shape, model.outputs[0]!.shape]).toEqual([x, y]);
  });

  it('does not batch a model that compares all rows of one input with all rows of another', () => {
    const scores = (name: string, shape: readonly Dimension[]) => tensorValue(name, 'float32', shape);
    const model = (texts: string, images: string) =>
      file(
        'scores.onnx',
        onnxModel({
          nodes: [],
          inputs: [scores('text', [texts, 2]), scores('image', [images, 2])],
          outputs: [scores('scores', [images, texts]), scores('transposed', [texts, images])],
        }),
      );
    expect(onnx(model('texts', 'images')).config.batching).toBe(false);
    expect(onnx(model('texts', 'images'), { config: { batching: true } }).config.batching).toBe(true);
    const shapes = { scores: [-1, -1], transposed: [-1, -1] };
    expect(onnx(model('texts', 'images'), { shapes }).config.batching).toBe(true);
    // Some exporters give all open dimensions one name.
    expect(onnx(model('N', 'N')).config.batching).toBe(true);
  });

  it('does not batch a model without inputs', () => {
    const path = file(
      'constant.onnx',
      onnxModel({ nodes: [], inputs: [], outputs: [tensorValue('y', 'float32', ['n'])] }),
    );
    expect(onnx(path).config.batching).toBe(false);
  });

  it('takes batching: false for a model that could batch', () => {
    const model = onnx(add, { config: { batching: false } });
    expect(model).toMatchObject({ config: { batching: false }, inputs: [{ shape: [-1, 4] }, { shape: [-1, 4] }] });
  });

  it('takes batching: true for one row at a time, and for no other fixed number of rows', () => {
    expect(onnx(withShapes([1, 3], [1, 3]), { config: { batching: true, maxBatchSize: 1 } }).inputs[0]!.shape).toEqual([
      3,
    ]);
    expect(() => onnx(withShapes([1, 3], [1, 3]), { config: { batching: true } })).toThrow(
      /config.batching is true, but input 'x' of .* of shape \[1,3\] takes one row at a time: set maxBatchSize: 1/,
    );
    expect(() => onnx(withShapes(['n'], [8]), { config: { batching: true } })).toThrow(
      /output 'y' of .* of shape \[8\] takes no batches of any size/,
    );
    expect(() => onnx(withShapes([], ['n']), { config: { batching: true } })).toThrow(/input 'x' of .* of shape \[\]/);
  });

  const refused: readonly ElementType[] = ['complex64', 'bfloat16', 'int4'];

  it.each((Object.keys(ELEMENT_TYPES) as ElementType[]).filter((type) => !refused.includes(type)))(
    'serves the element type %s',
    (type) => {
      expect(onnx(file('typed.onnx', identityModel(type))).inputs[0]!.dtype).toBe(type);
    },
  );

  it.each(refused)('says why it does not serve the element type %s', (type) => {
    const path = file('typed.onnx', identityModel(type));
    expect(() => onnx(path)).toThrow(
      new RegExp(`input 'x' of .*typed.onnx is ${type}, which onnxruntime-node does not take; it takes float32, `),
    );
  });

  it('serves chosen outputs in the order in which they are named', () => {
    const path = file(
      'outputs.onnx',
      onnxModel({
        nodes: [],
        inputs: [tensorValue('x', 'float32', ['n'])],
        outputs: [
          tensorValue('label', 'int64', ['n']),
          sequenceValue('probabilities', 'float32'),
          tensorValue('scores', 'float32', ['n', 2]),
        ],
      }),
    );
    expect(() => onnx(path)).toThrow(
      /output 'probabilities' of .* is a sequence, only tensors can be served; leave it out by naming the others in `outputs`/,
    );
    expect(onnx(path, { outputs: ['scores', 'label'] }).outputs.map(({ name }) => name)).toEqual(['scores', 'label']);
    expect(() => onnx(path, { outputs: ['lable'] })).toThrow(
      /outputs names 'lable', which .* does not have; did you mean 'label'\?/,
    );
  });

  it('takes shapes for what the file leaves open', () => {
    const path = withShapes(['n', null], undefined);
    expect(() => onnx(path)).toThrow(/output 'y' of .* has no shape in the file; say it: shapes: { "y": \[-1, …\] }/);
    const model = onnx(path, { shapes: { x: [-1, 16], y: [-1, 2] } });
    expect(model).toMatchObject({ config: { batching: true }, inputs: [{ shape: [16] }], outputs: [{ shape: [2] }] });
    expect(() => onnx(path, { shapes: { z: [1] } })).toThrow(/shapes names 'z', which .* does not have; it has x, y/);
    expect(() => onnx(path, { shapes: { y: 2 as never } })).toThrow(/must hold lists of integers, got number for 'y'/);
  });
});

describe('onnx with states', () => {
  const total = file('total.onnx', totalModel());
  const layered = file('layered.onnx', layeredModel());
  const bytes = (...values: number[]) => new Uint8Array(Float32Array.from(values).buffer);

  it('declares them as the file has them, and batches by sequences of which any number is under way', () => {
    expect(onnx(total, { state: { h: 'hn' } })).toMatchObject({
      inputs: [{ name: 'x', shape: [2] }],
      outputs: [{ name: 'y', shape: [2] }],
      config: {
        batching: true,
        sequenceBatching: {
          strategy: 'oldest',
          maxCandidateSequences: 200_000,
          state: { h: { dtype: 'float32', shape: [2], output: 'hn' } },
        },
      },
    });
    const config = completeModelConfig(onnx(total, { state: { h: 'hn' } }), 1);
    expect(config.sequenceBatching).toMatchObject({ strategy: 'oldest', maxSequenceIdleMicroseconds: 1_000_000 });
  });

  it('keeps what the configuration says of sequences', () => {
    const batchingOf = (sequenceBatching: SequenceBatching) =>
      onnx(total, { state: { h: 'hn' }, config: { sequenceBatching } }).config.sequenceBatching;
    expect(batchingOf({ maxSequenceIdleMicroseconds: 5 })).toMatchObject({
      strategy: 'oldest',
      maxSequenceIdleMicroseconds: 5,
    });
    expect(batchingOf({ strategy: 'oldest', maxCandidateSequences: 3 })).toMatchObject({ maxCandidateSequences: 3 });
    const direct = batchingOf({ strategy: 'direct' });
    expect(direct).toMatchObject({ strategy: 'direct', state: { h: { output: 'hn' } } });
    expect(direct).not.toHaveProperty('maxCandidateSequences');
  });

  it('runs failed requests again alone, but not where empty slots or iterations forbid it', () => {
    const isolates = (sequenceBatching: SequenceBatching) => {
      const model = onnx(total, { state: { h: 'hn' }, config: { sequenceBatching } });
      return completeModelConfig(model, 1).isolateFailures ?? false;
    };
    expect(isolates({})).toBe(true);
    expect(isolates({ strategy: 'direct', emptySlots: true })).toBe(false);
    expect(isolates({ iterative: true })).toBe(false);
  });

  it('finds their batch axis behind the layers, and leaves constants to the instances', () => {
    const model = onnx(layered, { state: { h: 'hn' }, constants: { sr: 3 } });
    expect(model).toMatchObject({ inputs: [{ name: 'x', shape: [2] }], config: { batching: true } });
    expect(model.config.sequenceBatching!.state).toMatchObject({ h: { shape: [3, 2] } });
    expect(model.inferFunc.args).toMatchObject([
      { batchAxes: { h: 1, hn: 1 }, constants: { sr: { dtype: 'float32', data: Float32Array.of(3), shape: [] } } },
    ]);
    const single = onnx(layered, { state: { h: 'hn' }, constants: { sr: 3 }, config: { batching: false } });
    expect(single.config.sequenceBatching!.state).toMatchObject({ h: { shape: [3, -1, 2] } });
    expect(single.inferFunc.args).toMatchObject([{ batchAxes: {} }]);
  });

  const wanted = (name: string) => ({ state: { h: { output: 'hn', initialFile: name } } });

  it('reads what a sequence begins with from a file beside the model', () => {
    file('begin.bin', bytes(1.5, -2));
    const complete = completeModelConfig(onnx(total, wanted('begin.bin')), 1);
    expect(complete.sequenceBatching!.states[0]!.initial).toEqual({ shape: [2], bytes: bytes(1.5, -2) });
  });

  it.each<[string, OnnxOptions, RegExp]>([
    [
      'of an input that the file does not have',
      { state: { hidden: 'hn' } },
      /state names the input 'hidden', which .*total.onnx does not have; its inputs are x, h, its outputs are y, hn$/,
    ],
    [
      'of an output that the file does not have',
      { state: { h: 'hN' } },
      /state names the output 'hN', which .*total.onnx does not have; its inputs are x, h, its outputs are y, hn$/,
    ],
    ['without an output', { state: { h: {} as never } }, /state.h of onnx\('total.onnx'\) must name an output, got/],
    ['without names', { state: {} }, /state of onnx\('total.onnx'\) must name inputs and outputs/],
    [
      'with a constant without a value',
      { state: { h: 'hn' }, constants: { x: undefined as never } },
      /constants.x of onnx\('total.onnx'\) must be a value or all elements, got undefined/,
    ],
    ['that is no record', { state: 'h' as never }, /state of onnx\('total.onnx'\) must be an object/],
    [
      'that are constants too',
      { state: { h: 'hn' }, constants: { h: 1 } },
      /constants names 'h' of .*total.onnx, which is a state or a control/,
    ],
    [
      'with constants that are no inputs',
      { constants: { rate: 1 } },
      /constants names the input 'rate', which .* x, h,/,
    ],
    [
      'said twice',
      { state: { h: 'hn' }, config: { sequenceBatching: { state: {} } } },
      /has both state and config.sequenceBatching.state; give one of them/,
    ],
    [
      'that are objects',
      { config: { sequenceBatching: { state: () => ({}) } } },
      /config.sequenceBatching.state of onnx\('total.onnx'\) is a function, but an ONNX model keeps tensors/,
    ],
    ['with a file that is missing', wanted('none.bin'), /none.bin is no initial value for state 'h' of .*ENOENT/],
    [
      'with a file that is too long',
      wanted('long.bin'),
      /long.bin is no initial value .*: it has 3 elements, which do not/,
    ],
    ['with a file of odd length', wanted('odd.bin'), /odd.bin is no .*: it has 7 bytes, expected a multiple of 4/],
  ])('refuses them %s', (_, options, message) => {
    file('long.bin', bytes(1, 2, 3));
    file('odd.bin', new Uint8Array(7));
    expect(() => onnx(total, options)).toThrow(message);
  });

  it('refuses a constant of another shape, and a control of another datatype', () => {
    expect(() => onnx(layered, { state: { h: 'hn' }, constants: { sr: [1, 2] } })).toThrow(
      /constants.sr of .*layered.onnx has 2 elements, which do not fill the shape \[\]/,
    );
    const sequenceBatching: SequenceBatching = { controls: { START: { control: 'START' } } };
    const controlled = file('controlled.onnx', controlledModel());
    expect(() => onnx(controlled, { state: { h: 'hn' }, config: { sequenceBatching } })).toThrow(
      /control 'START' is made as int32 of shape \[-1,1\], but the input of .* is float32 of shape \[-1,1\]/,
    );
  });

  it('refuses a state whose output is of another dtype or shape, and one without a batch axis', () => {
    const withOutput = (hn: Buffer, h: readonly Dimension[] = ['batch', 2]) =>
      file(
        'other.onnx',
        onnxModel({
          nodes: [],
          inputs: [tensorValue('x', 'float32', ['batch']), tensorValue('h', 'float32', h)],
          outputs: [tensorValue('y', 'float32', ['batch']), hn],
        }),
      );
    const state = { h: 'hn' };
    expect(() => onnx(withOutput(tensorValue('hn', 'int64', ['batch', 2])), { state })).toThrow(
      /state 'h' of .* is float32 of shape \[-1,2\], but output 'hn', which gives the next one, is int64 of shape \[-1,2\]/,
    );
    expect(() => onnx(withOutput(tensorValue('hn', 'float32', ['batch', 3])), { state })).toThrow(/of shape \[-1,3\]/);
    const fixed = withOutput(tensorValue('hn', 'float32', [2, 1]), [2, 1]);
    expect(onnx(fixed, { state }).config.batching).toBe(false);
    expect(() => onnx(fixed, { state, config: { batching: true } })).toThrow(
      /input 'h' of .* of shape \[2,1\] is a state without a batch axis: mark it with -1 in `shapes`/,
    );
    expect(onnx(fixed, { state, shapes: { h: [2, -1] } }).config.batching).toBe(true);
  });
});

describe('the instances of onnx', () => {
  const sessions = (options: OnnxOptions) =>
    onnx(add, options).inferFunc.args.map((args) => (args as { readonly session: unknown }).session);

  it('are one with onnxruntime’s own number of threads, or several that share the cores', () => {
    expect(sessions({})).toEqual([{ executionProviders: ['cpu'], graphOptimizationLevel: 'all' }]);
    const share = Math.max(1, Math.floor(availableParallelism() / 2));
    expect(sessions({ count: 2 })).toEqual(
      Array.from({ length: 2 }, () => expect.objectContaining({ intraOpNumThreads: share }) as unknown),
    );
  });

  it('get the options in onnxruntime’s words', () => {
    const options: OnnxOptions = {
      executionProviders: [{ name: 'cuda', deviceId: 1 }, 'cpu'],
      threads: 3,
      interOpNumThreads: 2,
      graphOptimizationLevel: 'basic',
      sessionOptions: { enableCpuMemArena: false },
    };
    expect(sessions(options)).toEqual([
      {
        executionProviders: [{ name: 'cuda', deviceId: 1 }, 'cpu'],
        intraOpNumThreads: 3,
        interOpNumThreads: 2,
        executionMode: 'parallel',
        graphOptimizationLevel: 'basic',
        enableCpuMemArena: false,
      },
    ]);
  });

  it('have an entry of args each, which wins', () => {
    const args = [0, 1].map((deviceId) => ({ executionProviders: [{ name: 'cuda', deviceId }] }));
    expect(sessions({ threads: 2, executionProviders: ['cpu'], args })).toEqual(
      args.map((own) => ({ ...own, intraOpNumThreads: 2, graphOptimizationLevel: 'all' })),
    );
  });

  it('have their threads’ environment and limits', () => {
    const { inferFunc } = onnx(add, { env: { A: 'b' }, resourceLimits: { maxOldGenerationSizeMb: 64 } });
    expect(inferFunc).toMatchObject({ env: { A: 'b' }, resourceLimits: { maxOldGenerationSizeMb: 64 }, count: 1 });
  });

  it.each<[OnnxOptions, string]>([
    [{ cuont: 2 } as never, "onnx('add.onnx') has an unknown option 'cuont'; did you mean 'count'?"],
    [{ count: 0 }, "count of onnx('add.onnx') must be an integer from 1 to 1024, got 0"],
    [{ count: 2, args: [{}] }, "args of onnx('add.onnx') has 1 entries for 2 instances, expected one per instance"],
    [
      { args: [{ device: 1 } as never] },
      "args[0] of onnx('add.onnx') has an unknown option 'device'; known are executionProviders, threads",
    ],
    [{ threads: 1.5 }, "threads of onnx('add.onnx') must be an integer from 1 to 1024, got 1.5"],
    [{ interOpNumThreads: 0 }, "interOpNumThreads of onnx('add.onnx') must be an integer from 1 to 1024, got 0"],
    [
      { executionProviders: [] },
      "executionProviders of onnx('add.onnx') must be a list of names or objects with a name, such as ['cuda', 'cpu'], got []",
    ],
    [{ executionProviders: [null as never] }, 'got [null]'],
    [
      { graphOptimizationLevel: 'most' as never },
      "graphOptimizationLevel of onnx('add.onnx') must be one of disabled, basic, extended, layout, all, got most",
    ],
    [{ sessionOptions: null as never }, "sessionOptions of onnx('add.onnx') must be an object, got null"],
    [
      { sessionOptions: { intraOpNumThreads: 2 } },
      "sessionOptions of onnx('add.onnx') has intraOpNumThreads; give it as the option threads",
    ],
    [{ outputs: [] }, 'add.onnx must be a list of one or more names, got []'],
    [{ outputs: 'c' as never }, 'add.onnx must be a list of one or more names, got "c"'],
    [{ config: null as never }, "config of onnx('add.onnx') must be an object, got null"],
    [
      { config: { decoupled: true } as never },
      "config.decoupled of onnx('add.onnx') is true, but an ONNX model gives one answer",
    ],
  ])('refuse %o', (options, message) => {
    expect(() => onnx(add, options)).toThrow(message);
  });
});
