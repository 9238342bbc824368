// ONNX models in a model repository: what a configuration leaves out is completed from the file, as Triton's backend does it,
// and what it says otherwise than the file is refused.
import { describe, expect, it } from 'vitest';

import { Triton, type TritonConfig } from 'tstriton';

import { callJson } from '../support/grpc-service.js';
import { modelRepository } from '../support/model-repository.js';
import { addModel, identityModel, node, onnxModel, tensorValue } from '../support/onnx-builder.js';
import { FREE_PORTS, inferJson, startServer } from '../support/start-server.js';

function serve(files: Readonly<Record<string, Uint8Array | string>>, config: TritonConfig = {}) {
  const repository = modelRepository(files);
  return startServer(() => undefined, { modelRepository: repository.path, ...config });
}

async function refusal(
  files: Readonly<Record<string, Uint8Array | string>>,
  config: TritonConfig = {},
): Promise<string> {
  const { path } = modelRepository(files);
  const triton = new Triton({ ...FREE_PORTS, serverThread: false, modelRepository: path, ...config });
  const { message } = (await triton.run().catch((error: unknown) => error)) as Error;
  return message;
}

async function configOf(http: string, model: string) {
  return (await callJson(`${http}/v2/models/${model}/config`))[1] as Record<string, unknown>;
}

/** Compares all rows of one input with all rows of another. */
const SCORES = onnxModel({
  nodes: [node('Transpose', ['text'], ['columns']), node('MatMul', ['image', 'columns'], ['scores'])],
  inputs: [tensorValue('text', 'float32', ['texts', 2]), tensorValue('image', 'float32', ['images', 2])],
  outputs: [tensorValue('scores', 'float32', ['images', 'texts'])],
});
const IO = `input { name: "x" data_type: TYPE_FP32 dims: [ 3 ] } output { name: "y" data_type: TYPE_FP32 dims: [ 3 ] }`;

describe.each([{ serverThread: true }, { serverThread: false }])('an ONNX model in a repository, %o', (thread) => {
  it('is completed from its file: tensors, batch axis, dynamic batching', async () => {
    await using server = await serve(
      {
        'batched/1/model.onnx': identityModel('float32', ['batch', 3]),
        'larger/1/model.onnx': identityModel('float32', ['batch', 3]),
        'larger/config.pbtxt': 'max_batch_size: 16',
        'single/1/model.onnx': identityModel('int64', [2, null]),
        'said/1/model.onnx': identityModel('float32', ['batch', 3]),
        'said/config.pbtxt': `platform: "onnxruntime_onnx" max_batch_size: 8 ${IO}`,
        'unbatched/1/model.onnx': identityModel('float32', ['batch', 3]),
        'unbatched/config.pbtxt': IO.replaceAll('[ 3 ]', '[ -1, 3 ]'),
        'scores/1/model.onnx': SCORES,
        'wanted/1/model.onnx': SCORES,
        'wanted/config.pbtxt': 'max_batch_size: 2',
      },
      thread,
    );
    const { http } = server;
    const tensor = (name: string, type: string, dims: number[]) => [{ name, data_type: type, dims }];
    const completed = {
      platform: 'onnxruntime_onnx',
      backend: 'onnxruntime',
      default_model_filename: 'model.onnx',
      instance_group: [{ name: 'batched', kind: 'KIND_CPU', count: 1 }],
      max_batch_size: 4,
      input: tensor('x', 'TYPE_FP32', [3]),
      output: tensor('y', 'TYPE_FP32', [3]),
      dynamic_batching: { preferred_batch_size: [4] },
    };
    expect(await configOf(http, 'batched')).toMatchObject(completed);
    const larger = {
      ...completed,
      instance_group: [{ name: 'larger', kind: 'KIND_CPU', count: 1 }],
      max_batch_size: 16,
      dynamic_batching: { preferred_batch_size: [16] },
    };
    expect(await configOf(http, 'larger')).toMatchObject(larger);
    const single = await configOf(http, 'single');
    expect(single).toMatchObject({ max_batch_size: 0, input: tensor('x', 'TYPE_INT64', [2, -1]) });
    const said = await configOf(http, 'said');
    expect(said).toMatchObject({ max_batch_size: 8, input: tensor('x', 'TYPE_FP32', [3]) });
    expect([single['dynamic_batching'], said['dynamic_batching']]).toEqual([undefined, undefined]);
    expect(await configOf(http, 'unbatched')).toMatchObject({ max_batch_size: 0, input: [{ dims: [-1, 3] }] });
    expect(await configOf(http, 'scores')).toMatchObject({ max_batch_size: 0, output: [{ dims: [-1, -1] }] });
    expect(await configOf(http, 'wanted')).toMatchObject({ max_batch_size: 2, output: [{ dims: [-1] }] });
    for (const name of ['batched', 'larger', 'said', 'unbatched']) {
      const input = { name: 'x', datatype: 'FP32', shape: [2, 3], data: [1, 2, 3, 4, 5, 6] };
      expect(await inferJson(http, name, [input])).toMatchObject({ outputs: [{ shape: [2, 3], data: input.data }] });
    }
    const [, metadata] = await callJson(`${http}/v2/models/batched`);
    expect(metadata).toMatchObject({ platform: 'onnxruntime_onnx', inputs: [{ shape: [-1, 3] }] });
  });

  it('is reshaped between what clients send and what its file takes', async () => {
    // As of an image model whose file has one image to a batch, and two dimensions of 1 behind its classes.
    const graph = onnxModel({
      nodes: [node('Transpose', ['image'], ['classes'], { perm: [0, 3, 1, 2] })],
      inputs: [tensorValue('image', 'float32', [1, 1, 1, 4])],
      outputs: [tensorValue('classes', 'float32', [1, 4, 1, 1])],
    });
    const rows = onnxModel({
      nodes: [node('Identity', ['x'], ['y'])],
      inputs: [tensorValue('x', 'float32', ['batch'])],
      outputs: [tensorValue('y', 'float32', ['batch'])],
    });
    await using server = await serve(
      {
        'image/1/model.onnx': graph,
        'image/labels.txt': 'cat\ndog\nbird\nfish\n',
        'image/config.pbtxt': `
          name: "image" platform: "onnxruntime_onnx" max_batch_size: 0
          input [ { name: "image" data_type: TYPE_FP32 format: FORMAT_NCHW dims: [ 1, 2, 2 ] reshape { shape: [ 1, 1, 1, 4 ] } } ]
          output [ { name: "classes" data_type: TYPE_FP32 dims: [ 4 ] reshape { shape: [ 1, 4, 1, 1 ] } label_filename: "labels.txt" } ]`,
        'rows/1/model.onnx': rows,
        'rows/config.pbtxt': `
          max_batch_size: 4
          input { name: "x" data_type: TYPE_FP32 dims: 1 reshape { } }
          output { name: "y" data_type: TYPE_FP32 dims: 1 reshape { } }`,
      },
      thread,
    );
    const image = { name: 'image', datatype: 'FP32', shape: [1, 2, 2], data: [1, 4, 3, 2] };
    expect(await inferJson(server.http, 'image', [image])).toMatchObject({
      outputs: [{ shape: [4], data: image.data }],
    });
    const asked = { outputs: [{ name: 'classes', parameters: { classification: 2 } }] };
    expect((await inferJson(server.http, 'image', [image], asked)).outputs[0]!.data).toEqual([
      '4.000000:1:dog',
      '3.000000:2:bird',
    ]);
    expect(await configOf(server.http, 'image')).toMatchObject({
      input: [{ format: 'FORMAT_NCHW', dims: [1, 2, 2], reshape: { shape: [1, 1, 1, 4] } }],
    });
    const x = { name: 'x', datatype: 'FP32', shape: [3, 1], data: [1, 2, 3] };
    expect(await inferJson(server.http, 'rows', [x])).toMatchObject({ outputs: [{ shape: [3, 1], data: x.data }] });
  });
});

it('an ONNX model that compares all rows of two inputs gives each of its clients the scores of its own', async () => {
  await using server = await serve({ 'm/1/model.onnx': SCORES });
  const matrix = (name: string, rows: number, value: number) => ({
    name,
    datatype: 'FP32',
    shape: [rows, 2],
    data: new Array<number>(2 * rows).fill(value),
  });
  const asked = Array.from({ length: 16 }, async (_, i) => {
    const [texts, images] = [1 + (i % 3), 1 + (i % 2)];
    const answer = await inferJson(server.http, 'm', [matrix('text', texts, i), matrix('image', images, 1)]);
    const scores = { shape: [images, texts], data: new Array<number>(images * texts).fill(2 * i) };
    expect(answer).toMatchObject({ status: 200, outputs: [scores] });
  });
  await Promise.all(asked);
});

describe('a tensor without dimensions of an ONNX model in a repository', () => {
  const one = { data_type: 'TYPE_FP32', dims: [1] };

  it('has one element beside the batch axis for clients, as Triton completes it', async () => {
    await using server = await serve({ 'm/1/model.onnx': identityModel('float32', ['batch']) });
    const { input, output } = (await configOf(server.http, 'm')) as Record<string, readonly unknown[]>;
    expect(input).toMatchObject([{ ...one, reshape: { shape: [] } }]);
    expect(output).toMatchObject([{ ...one, reshape: { shape: [] } }]);
    const x = { name: 'x', datatype: 'FP32', shape: [3, 1], data: [1, 2, 3] };
    expect(await inferJson(server.http, 'm', [x])).toMatchObject({ outputs: [{ shape: [3, 1], data: x.data }] });
  });

  it('has one element without a batch axis, and is declared so', async () => {
    const declared = `input { name: "x" data_type: TYPE_FP32 dims: 1 } output { name: "y" data_type: TYPE_FP32 dims: [ 1, 1 ] }`;
    await using server = await serve({
      'completed/1/model.onnx': identityModel('float32', []),
      'declared/1/model.onnx': identityModel('float32', []),
      'declared/config.pbtxt': declared,
    });
    const { input } = (await configOf(server.http, 'completed')) as { readonly input: readonly [object] };
    expect(input).toMatchObject([one]);
    expect(input[0]).not.toHaveProperty('reshape');
    const x = { name: 'x', datatype: 'FP32', shape: [1], data: [7] };
    expect(await inferJson(server.http, 'completed', [x])).toMatchObject({ outputs: [{ shape: [1], data: [7] }] });
    expect(await inferJson(server.http, 'declared', [x])).toMatchObject({ outputs: [{ shape: [1, 1], data: [7] }] });
  });
});

describe('an ONNX model in a repository is refused', () => {
  const batched = identityModel('float32', ['batch', 3]);

  it.each([
    [
      'with a batch size that its file has none for',
      identityModel('float32', [2, 3]),
      'max_batch_size: 4',
      "autofill failed for model 'm': model does not support batching while non-zero max_batch_size is specified",
    ],
    [
      'with a batch size and tensors that its file has none for',
      identityModel('float32', [2, 3]),
      `max_batch_size: 4 ${IO}`,
      "model 'm', tensor 'x': for the model to support batching the shape should have at least 1 dimension and the first dimension must be -1; but shape expected by the model is [2,3]",
    ],
    [
      'with another datatype',
      batched,
      IO.replace('TYPE_FP32', 'TYPE_INT32'),
      "unable to load model 'm', configuration expects datatype TYPE_INT32 for input 'x', model provides TYPE_FP32",
    ],
    [
      'with other dimensions',
      batched,
      `max_batch_size: 4 ${IO.replace('[ 3 ]', '[ 4 ]')}`,
      "model 'm', tensor 'x': the model expects shape [-1,3] but the model configuration specifies shape [-1,4]",
    ],
    [
      'with more dimensions',
      batched,
      `max_batch_size: 4 ${IO.replace('[ 3 ]', '[ 3, 1 ]')}`,
      "model 'm', tensor 'x': the model expects 2 dimensions (shape [-1,3]) but the model configuration specifies 3 dimensions",
    ],
    [
      'with an input that it has not',
      batched,
      'input { name: "z" data_type: TYPE_FP32 dims: 3 }',
      "unexpected inference input 'z' for model 'm', allowed inputs are: 'x'",
    ],
    [
      'with fewer inputs',
      addModel(['batch', 3]),
      'input { name: "a" data_type: TYPE_FP32 dims: 3 }',
      "unable to load model 'm', configuration expects 1 inputs, model provides 2",
    ],
    [
      'with more than one element for a scalar',
      identityModel('float32', []),
      IO,
      "unable to load model 'm', scalar tensor 'x', should only provide 1 in the model configuration when the model doesn't support batching. Model configuration provided: [3].",
    ],
    [
      'with a reshape of another size',
      batched,
      `max_batch_size: 4 ${IO.replace('[ 3 ]', '[ 6 ] reshape { shape: [ 3 ] }')}`,
      "model configuration of 'm' has different size for dims and reshape of 'x': dims [6], reshape [3]",
    ],
    ['that streams', batched, 'model_transaction_policy { decoupled: true }', 'an ONNX model gives one answer'],
    [
      'with a number of threads that is none',
      batched,
      'parameters { key: "intra_op_thread_count" value { string_value: "many" } }',
      "parameter 'intra_op_thread_count' of model 'm' must be a number of threads, got \"many\"",
    ],
    ['that is no ONNX model', Buffer.from('text'), '', 'is not an ONNX model'],
  ])('%s', async (_, model, config, reason) => {
    expect(await refusal({ 'm/1/model.onnx': model, 'm/config.pbtxt': config })).toContain(reason);
  });

  it('when nothing is to be completed, and the configuration does not say all', async () => {
    const files = { 'm/1/model.onnx': batched };
    expect(await refusal(files, { disableAutoCompleteConfig: true })).toContain(
      "model 'm' must specify inputs and outputs in config.pbtxt, because disableAutoCompleteConfig is true",
    );
    const whole = { ...files, 'm/config.pbtxt': `max_batch_size: 4 ${IO}` };
    await using server = await serve(whole, { disableAutoCompleteConfig: true });
    expect(await configOf(server.http, 'm')).toMatchObject({ max_batch_size: 4 });
  });
});
