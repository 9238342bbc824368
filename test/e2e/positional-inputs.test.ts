// Models that declare their inputs as a list, as PyTriton's do: tensors by position and by name, wherever the callable runs.
import { describe, expect, it } from 'vitest';

import {
  batch,
  defineModel,
  fillOptionals,
  firstValue,
  groupByKeys,
  groupByValues,
  instanceGroup,
  padBatch,
  sample,
  stream,
  type Tensor,
  withTensors,
  type TensorFunc,
  type TensorSpecs,
} from 'tstriton';
import { ModelClient } from 'tstriton/client';

import { startServer } from '../support/start-server.js';

const addSub = defineModel({
  modelName: 'AddSub',
  inputs: [
    { dtype: 'float32', shape: [-1] },
    { dtype: 'float32', shape: [-1] },
  ],
  outputs: [
    { dtype: 'float32', shape: [-1] },
    { name: 'difference', dtype: 'float32', shape: [-1] },
  ],
  strict: true,
});
const [A, B] = [Float32Array.of(5, 7), Float32Array.of(1, 2)];
const SUM = Float32Array.of(6, 9);
const DIFFERENCE = Float32Array.of(4, 5);

type Floats = Tensor<'float32'>;
const sum = (a: Floats, b: Floats) => a.map((value, i) => value + b.data[i]!);
const difference = (a: Floats, b: Floats) => a.map((value, i) => value - b.data[i]!);

/** A decorator of somebody's own that copies the inputs. */
function copied<I extends TensorSpecs, O extends TensorSpecs, Decoupled extends boolean>(
  fn: TensorFunc<I, O, Decoupled>,
): TensorFunc<I, O, Decoupled> {
  // oxlint-disable-next-line typescript/no-misused-spread -- what is tested: a copy has the names
  return (inputs, context) => fn({ ...inputs }, context);
}

describe.each([{ serverThread: true }, { serverThread: false }])('inputs by position with %o', (config) => {
  it('come in declaration order, under every decorator and under none', async () => {
    await using server = await startServer((triton) => {
      const single = { ...addSub, config: { maxBatchSize: 1 } };
      triton.bind({ ...addSub, modelName: 'batch', inferFunc: batch(([a, b]) => [sum(a, b), difference(a, b)]) });
      triton.bind({ ...single, modelName: 'sample', inferFunc: sample(([a, b]) => [sum(a, b), difference(a, b)]) });
      triton.bind({
        ...addSub,
        modelName: 'raw',
        inferFunc: (requests) => requests.map(({ inputs: [a, b] }) => [sum(a, b), difference(a, b)]),
      });
      triton.bind({
        ...addSub,
        modelName: 'names',
        inferFunc: batch(({ INPUT_1, INPUT_2 }) => ({ OUTPUT_1: sum(INPUT_1, INPUT_2), difference: difference(INPUT_1, INPUT_2) })), // prettier-ignore
      });
      triton.bind({
        ...addSub,
        modelName: 'values',
        inferFunc: batch((inputs) => {
          const [a, b] = Object.values(inputs);
          return [sum(a!, b!), difference(inputs[0], inputs[1])];
        }),
      });
      triton.bind({
        ...addSub,
        modelName: 'decorated',
        inferFunc: groupByKeys(batch(copied(groupByValues(['INPUT_2'], copied(padBatch(([a, b]) => [sum(a, b), difference(a, b)])))))), // prettier-ignore
      });
      triton.bind({
        ...addSub,
        modelName: 'changed',
        inferFunc: batch((inputs) => {
          const [a, b] = withTensors(inputs, { INPUT_1: inputs[0].map((value) => value * 1) });
          return [sum(a, b), difference(a, b)];
        }),
      });
      triton.bind({
        ...addSub,
        modelName: 'thread',
        inferFunc: instanceGroup(new URL('../fixtures/positional-instance.js', import.meta.url)),
      });
    }, config);
    for (const modelName of ['batch', 'sample', 'raw', 'names', 'values', 'decorated', 'changed', 'thread']) {
      await using client = new ModelClient(server.grpc, { ...addSub, modelName });
      const { OUTPUT_1, difference: rest } = await client.inferSample(A, B);
      expect([modelName, OUTPUT_1.data, rest.data]).toEqual([modelName, SUM, DIFFERENCE]);
    }
  });

  it('are undefined where an optional one was not sent, and have its default under fillOptionals', async () => {
    const scaled = defineModel({
      modelName: 'Scaled',
      inputs: [
        { dtype: 'float32', shape: [1] },
        { name: 'scale', dtype: 'float32', shape: [1], optional: true },
        { name: 'language', dtype: 'string', shape: [1] },
      ],
      outputs: [{ dtype: 'string', shape: [1] }],
      strict: true,
    });
    await using server = await startServer((triton) => {
      triton.bind({
        ...scaled,
        modelName: 'absent',
        inferFunc: groupByKeys(
          batch(([x, scale, language]) => [language.data.map((text, row) => [`${text} ${x.data[row]} ${scale?.data[row]}`])]), // prettier-ignore
        ),
      });
      triton.bind({
        ...scaled,
        modelName: 'filled',
        inferFunc: fillOptionals(
          { scale: 10 },
          batch(
            groupByValues(
              ['scale'],
              firstValue(['scale'], ([x, scale, language]) => [language.data.map((text, row) => [`${text} ${x.data[row]} ${scale}`])]), // prettier-ignore
            ),
          ),
        ),
      });
    }, config);
    for (const [modelName, without] of [
      ['absent', 'undefined'],
      ['filled', '10'],
    ]) {
      // prettier-ignore
      await using client = new ModelClient(server.http, { ...scaled, modelName: modelName! });
      const answers = await Promise.all([
        client.inferSample([1], undefined, ['a']),
        client.inferSample([2], [3], ['b']),
        client.inferSample({ INPUT_1: [4], language: ['c'] }),
      ]);
      expect(answers.map(({ OUTPUT_1 }) => OUTPUT_1.data[0])).toEqual([`a 1 ${without}`, 'b 2 3', `c 4 ${without}`]);
    }
  });

  it('stand for the outputs when they are returned', async () => {
    await using server = await startServer((triton) => {
      triton.bind({ ...addSub, modelName: 'batch', inferFunc: batch((inputs) => inputs) });
      triton.bind({ ...addSub, modelName: 'raw', inferFunc: (requests) => requests.map(({ inputs }) => inputs) });
    }, config);
    for (const modelName of ['batch', 'raw']) {
      await using client = new ModelClient(server.http, { ...addSub, modelName });
      const { OUTPUT_1, difference: rest } = await client.inferBatch([[1], [2]], [[3], [4]]);
      expect([OUTPUT_1.toNested(), rest.toNested()]).toEqual([[[1], [2]], [[3], [4]]]); // prettier-ignore
    }
  });

  it('come to streams, and go from model to model', async () => {
    const down = defineModel({ ...addSub, modelName: 'Down', config: { decoupled: true } });
    await using server = await startServer((triton) => {
      triton.bind({ ...addSub, inferFunc: batch(([a, b]) => [sum(a, b), difference(a, b)]) });
      triton.bind({
        ...down,
        inferFunc: stream(async function* ([a, b], { modelOf, models }) {
          const first = await modelOf(addSub).infer([a, b]);
          yield [first.OUTPUT_1, first.difference];
          const { OUTPUT_1, difference: rest } = await models['AddSub']!.infer({ INPUT_1: b, INPUT_2: a });
          yield [OUTPUT_1 as Floats, rest as Floats];
          const whole = await modelOf(addSub).infer([a, a]);
          yield { OUTPUT_1: whole.OUTPUT_1, difference: whole.difference };
        }),
      });
    }, config);
    const response = await fetch(`${server.http}/v2/models/Down/generate_stream`, {
      method: 'POST',
      body: JSON.stringify({ INPUT_1: [5], INPUT_2: [1] }),
    });
    const answers = Array.from((await response.text()).matchAll(/"OUTPUT_1":([^,}]+).*?"difference":([^,}]+)/g), ([, a, b]) => [a, b]); // prettier-ignore
    expect(answers).toEqual([['6.0', '4.0'], ['6.0', '-4.0'], ['10.0', '0.0']]); // prettier-ignore
  });

  it('of the client go by the order of any declaration, also one that only the server knows', async () => {
    const record = defineModel({
      modelName: 'Record',
      inputs: { minuend: { dtype: 'float32', shape: [-1] }, subtrahend: { dtype: 'float32', shape: [-1] } },
      outputs: { difference: { dtype: 'float32', shape: [-1] } },
      strict: true,
    });
    await using server = await startServer((triton) => {
      triton.bind({
        ...record,
        inferFunc: batch(({ minuend, subtrahend }, { requests }) => ({
          difference: difference(minuend, subtrahend).map(
            (value) => value + Number(requests[0]!.parameters['more'] ?? 0),
          ),
        })),
      });
    }, config);
    for (const url of [server.http, server.grpc]) {
      await using typed = new ModelClient(url, record);
      await using untyped = new ModelClient(url, 'Record');
      expect((await typed.inferSample(A, B)).difference.data).toEqual(DIFFERENCE);
      expect((await untyped.inferSample(A, B)).difference!.data).toEqual(DIFFERENCE);
      expect((await untyped.inferSample([5, 7], [1, 2], { parameters: { more: 1 } })).difference!.data).toEqual(DIFFERENCE.map((value) => value + 1)); // prettier-ignore
      expect((await untyped.inferBatch([[5, 7]], [[1, 2]])).difference!.data).toEqual(DIFFERENCE);
      await expect(untyped.inferSample(A, B, A)).rejects.toThrow("model 'Record' has 2 inputs ('minuend', 'subtrahend'), got a list of 3"); // prettier-ignore
      await expect(untyped.inferSample(A)).rejects.toThrow("missing required input(s) ['subtrahend']");
    }
  });
});
