// Triton's L0_input_validation: inputs that are missing, too many, or not what their shape says, over both protocols.
import { status as GRPC } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { type Triton } from 'tstriton';

import { askBoth, type BinaryTensor } from '../support/both-wires.js';
import { bytesElements, expectAlive } from '../support/http-infer.js';
import { floats } from '../support/shared-memory.js';
import { startServer, type RunningServer } from '../support/start-server.js';

const FLOAT = { dtype: 'float32', shape: [-1] } as const;
const OPTIONAL = { ...FLOAT, optional: true } as const;
const THREE = { INPUT0: FLOAT, INPUT1: FLOAT, INPUT2: FLOAT } as const;

function bind(triton: Triton): void {
  const models = {
    input_all_required: THREE,
    input_optional: { ...THREE, INPUT3: OPTIONAL },
    input_all_optional: { INPUT0: OPTIONAL, INPUT1: OPTIONAL },
  };
  for (const [modelName, inputs] of Object.entries(models)) {
    triton.bind({
      modelName,
      inputs,
      outputs: { OUTPUT0: FLOAT },
      inferFunc: (requests) => requests.map(({ inputs: given }) => ({ OUTPUT0: [Object.keys(given).length] })),
      config: { batching: false },
    });
  }
  const identity = (modelName: string, dtype: 'float32' | 'string', maxBatchSize: number) =>
    triton.bind({
      modelName,
      inputs: { INPUT0: { dtype, shape: [8] } },
      outputs: { OUTPUT0: { dtype, shape: [8] } },
      inferFunc: (requests) => requests,
      config: { maxBatchSize },
    });
  identity('pt_identity', 'float32', 8);
  identity('onnx_object', 'string', 8);
}

const ONE = floats(1);
const input = (name: string, bytes: Uint8Array = ONE, shape: readonly number[] = [1], datatype = 'FP32') =>
  ({ name, bytes, shape, datatype }) satisfies BinaryTensor;
const words = (count: number) => bytesElements(...Array.from({ length: count }, (_, i) => `w${i}`));
const zeros = (count: number) => new Uint8Array(4 * count);

describe.each([{ serverThread: true }, { serverThread: false }])('L0_input_validation with %o', (config) => {
  let server: RunningServer;
  beforeAll(async () => {
    server = await startServer(bind, config);
  });
  afterAll(() => server[Symbol.asyncDispose]());

  it.each<[string, string, readonly BinaryTensor[], string]>([
    [
      'none of the inputs',
      'input_all_required',
      [],
      "expected 3 inputs but got 0 inputs for model 'input_all_required'. Got input(s) [], but missing required input(s) ['INPUT0','INPUT1','INPUT2']. Please provide all required input(s).",
    ],
    [
      'none of the inputs, of which one may be left out',
      'input_optional',
      [],
      "expected number of inputs between 3 and 4 but got 0 inputs for model 'input_optional'. Got input(s) [], but missing required input(s) ['INPUT0','INPUT1','INPUT2']. Please provide all required input(s).",
    ],
    [
      'one of three',
      'input_all_required',
      [input('INPUT0')],
      "expected 3 inputs but got 1 inputs for model 'input_all_required'. Got input(s) ['INPUT0'], but missing required input(s) ['INPUT1','INPUT2']. Please provide all required input(s).",
    ],
    [
      'one of three and the one that may be left out',
      'input_optional',
      [input('INPUT0'), input('INPUT3')],
      "expected number of inputs between 3 and 4 but got 2 inputs for model 'input_optional'. Got input(s) ['INPUT0','INPUT3'], but missing required input(s) ['INPUT1','INPUT2']. Please provide all required input(s).",
    ],
    [
      'another datatype',
      'input_all_required',
      [input('INPUT0', ONE, [1], 'INT32'), input('INPUT1'), input('INPUT2')],
      "inference input 'INPUT0' data-type is 'INT32', but model 'input_all_required' expects 'FP32'",
    ],
    [
      'another shape',
      'pt_identity',
      [input('INPUT0', zeros(9), [1, 9])],
      "unexpected shape for input 'INPUT0' for model 'pt_identity'. Expected [-1,8], got [1,9]. NOTE: Setting a non-zero max_batch_size in the model config requires a batch dimension to be prepended to each input shape. If you want to specify the full shape including the batch dim in your input dims config, try setting max_batch_size to zero. See the model configuration docs for more info on max_batch_size.",
    ],
    [
      'more rows than a batch may have',
      'pt_identity',
      [input('INPUT0', zeros(72), [9, 8])],
      "inference request batch-size must be <= 8 for 'pt_identity'",
    ],
    [
      'more bytes than the shape says',
      'pt_identity',
      [input('INPUT0', zeros(10), [1, 8])],
      "input byte size mismatch for input 'INPUT0' for model 'pt_identity'. Expected 32, got 40",
    ],
    [
      'fewer bytes than the shape says',
      'pt_identity',
      [input('INPUT0', zeros(7), [1, 8])],
      "input byte size mismatch for input 'INPUT0' for model 'pt_identity'. Expected 32, got 28",
    ],
    [
      'fewer texts than the shape says',
      'onnx_object',
      [input('INPUT0', words(7), [1, 8], 'BYTES')],
      "expected 8 string elements for inference input 'INPUT0' for model 'onnx_object', got 7",
    ],
    [
      'more texts than the shape says',
      'onnx_object',
      [input('INPUT0', words(9), [1, 8], 'BYTES')],
      "unexpected number of string elements 9 for inference input 'INPUT0' for model 'onnx_object', expecting 8",
    ],
    [
      'the same input twice',
      'pt_identity',
      [input('INPUT0'), input('INPUT0')],
      "input 'INPUT0' already exists in request",
    ],
  ])('refuses %s', async (_, model, inputs, message) => {
    const error = `[request id: i] ${message}`;
    expect(await askBoth(server, { model, inputs, id: 'i' })).toEqual({
      http: { status: 400, error },
      grpc: { status: GRPC.INVALID_ARGUMENT, error },
    });
    await expectAlive(server.http);
  });

  it('refuses an input that nobody knows, without the id of the request', async () => {
    const inputs = ['INPUT0', 'INPUT1', 'INPUT9'].map((name) => input(name));
    const error = "unexpected inference input 'INPUT9' for model 'input_all_required'";
    expect(await askBoth(server, { model: 'input_all_required', inputs, id: 'i' })).toEqual({
      http: { status: 400, error },
      grpc: { status: GRPC.INVALID_ARGUMENT, error },
    });
  });

  it('takes no inputs where all may be left out, and no more than there are', async () => {
    const answered = { http: { status: 200, error: undefined }, grpc: { status: GRPC.OK, error: undefined } };
    expect(await askBoth(server, { model: 'input_all_optional', inputs: [] })).toEqual(answered);
    const { http, grpc } = await askBoth(server, {
      model: 'input_all_optional',
      inputs: ['INPUT0', 'INPUT1', 'INPUT2'].map((name) => input(name)),
    });
    expect([http.status, grpc.status]).toEqual([400, GRPC.INVALID_ARGUMENT]);
    expect(http.error).toContain(
      "expected number of inputs between 0 and 2 but got 3 inputs for model 'input_all_optional'",
    );
    expect(grpc.error).toBe(http.error);
  });

  it('takes what is as its shape says', async () => {
    const answered = { http: { status: 200, error: undefined }, grpc: { status: GRPC.OK, error: undefined } };
    expect(await askBoth(server, { model: 'pt_identity', inputs: [input('INPUT0', zeros(64), [8, 8])] })).toEqual(
      answered,
    );
    const texts = input('INPUT0', words(16), [2, 8], 'BYTES');
    expect(await askBoth(server, { model: 'onnx_object', inputs: [texts] })).toEqual(answered);
  });
});
