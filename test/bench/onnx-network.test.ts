// The networks of the onnx suite: that onnxruntime computes from the file what was computed by hand, to the bit, and that
// requests and the check of answers carry those numbers.
import { InferenceSession, Tensor } from 'onnxruntime-node';
import { describe, expect, it } from 'vitest';

import { modelFile } from '../../bench/onnx-file.js';
import { NETWORK_NAMES, networkNamed, NETWORKS } from '../../bench/onnx-networks.js';
import { binaryRequests, checkAnswer, grpcRequests } from '../../bench/onnx-wire.js';
import { readFields } from '../../bench/protobuf-bytes.js';
import { chooseRows } from '../../bench/suites/onnx.js';
import { bytesOf } from '../../bench/tensor-wire.js';

const LARGEST_MESSAGE = 16_379; // that the gRPC load can send

describe.each(NETWORK_NAMES)('the network %s', (name) => {
  const network = NETWORKS[name];
  const { input, output } = network;
  const row = bytesOf(input.values);
  const answer = bytesOf(output.values);

  it.each([1, 5])('is the same to the bit by hand and in onnxruntime, in a batch of %i', async (rows) => {
    const session = await InferenceSession.create(modelFile(network), { intraOpNumThreads: 1 });
    try {
      const values = new Float32Array(rows * input.values.length);
      for (let i = 0; i < rows; i++) values.set(input.values, i * input.values.length);
      const run = await session.run({ [input.name]: new Tensor('float32', values, [rows, ...input.shape]) });
      const { dims, data } = run[output.name]!;
      expect(dims).toEqual([rows, ...output.shape]);
      for (let i = 0; i < rows; i++) {
        const one = (data as Float32Array).subarray(i * output.values.length, (i + 1) * output.values.length);
        expect(bytesOf(one).equals(answer)).toBe(true);
      }
    } finally {
      await session.release();
    }
  });

  it('gives an answer that shows the whole computation', () => {
    // Mostly different numbers: a kernel or a column that was left out would show.
    expect(new Set(output.values).size).toBeGreaterThan(output.values.length * 0.8);
  });

  it('is asked for one row over either wire', () => {
    const { headers, body } = binaryRequests(network)[0]!;
    const length = Number(headers['inference-header-content-length']);
    const { inputs } = JSON.parse(body.toString('utf8', 0, length)) as { inputs: unknown };
    expect(inputs).toMatchObject([{ name: input.name, datatype: 'FP32', shape: [1, ...input.shape] }]);
    expect(body.subarray(length).equals(row)).toBe(true);

    const message = grpcRequests(network)[0]!;
    const [model, , tensor, raw] = readFields(message).map(({ value }) => value as Buffer);
    expect(model!.toString()).toBe(name);
    expect(readFields(tensor!).map(({ value }) => value.toString())).toContain(input.name);
    expect(raw!.equals(row)).toBe(true);
    expect(message.length).toBeLessThanOrEqual(LARGEST_MESSAGE);
  });

  it('accepts only an answer that ends with its output', () => {
    const message = Buffer.concat([Buffer.from('header'), answer]);
    expect(() => checkAnswer(network, message)).not.toThrow();
    message[message.length - 1]! ^= 1;
    expect(() => checkAnswer(network, message)).toThrow(`wrong answer of ${name}`);
    expect(() => checkAnswer(network, answer.subarray(1))).toThrow(`wrong answer of ${name}`);
  });
});

it('refuses a network that does not exist', () => {
  expect(() => networkNamed('rnn')).toThrow("unknown network 'rnn', expected one of mlp, conv");
});

const wires = ['http-binary', 'grpc'];
it.each([
  [undefined, ['mlp', 'conv'], wires],
  [['conv'], ['conv'], wires],
  [['grpc'], ['mlp', 'conv'], ['grpc']],
  [['grpc', 'conv'], ['conv'], ['grpc']],
])('--only %j chooses the networks %j over %j', (only, networks, over) => {
  expect(chooseRows(only)).toEqual({ networks, wires: over });
});

it('refuses a row that is neither a network nor a wire', () => {
  expect(() => chooseRows(['conv', 'http-json'])).toThrow("--only: unknown 'http-json'");
});
