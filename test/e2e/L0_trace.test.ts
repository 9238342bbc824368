// The trace extension: settings of the server and of models, as Triton's suite of this name tests them.
import { expect, it } from 'vitest';

import type { Triton } from 'tstriton';

import { callJson, grpcService } from '../support/grpc-service.js';
import { startServer } from '../support/start-server.js';

const TENSOR = { dtype: 'float32', shape: [-1] } as const;

function bind(triton: Triton): void {
  for (const modelName of ['simple', 'other'])
    triton.bind({ modelName, inferFunc: (requests) => requests, inputs: { x: TENSOR }, outputs: { y: TENSOR } });
}

const DEFAULTS = {
  trace_level: ['OFF'],
  trace_rate: '1000',
  trace_count: '-1',
  log_frequency: '0',
  trace_file: '',
  trace_mode: 'triton',
};

it('trace settings of the server and of models are one state over both protocols', async () => {
  await using server = await startServer(bind, { restrictedEndpoints: [] });
  using grpc = grpcService(server.grpc);
  const setting = (model = '') => `${server.http}/v2${model === '' ? '' : `/models/${model}`}/trace/setting`;
  expect(await callJson(setting())).toEqual([200, DEFAULTS]);
  expect(await callJson(setting('simple'), { trace_rate: '12', log_frequency: '3' })).toEqual([
    200,
    { ...DEFAULTS, trace_rate: '12', log_frequency: '3' },
  ]);
  await grpc.call('TraceSetting', { settings: { trace_rate: { value: ['5'] }, trace_count: { value: ['9'] } } });
  // What a model did not set itself follows the server.
  expect(await callJson(setting('simple'))).toEqual([
    200,
    { ...DEFAULTS, trace_rate: '12', trace_count: '9', log_frequency: '3' },
  ]);
  expect(await callJson(setting('other'))).toEqual([200, { ...DEFAULTS, trace_rate: '5', trace_count: '9' }]);
  const cleared = await grpc.call('TraceSetting', { model_name: 'simple', settings: { trace_rate: { value: [] } } });
  expect(cleared).toMatchObject({ settings: { trace_rate: { value: ['5'] }, log_frequency: { value: ['3'] } } });
  expect(await callJson(setting(), { trace_rate: null, trace_count: null })).toEqual([200, DEFAULTS]);
});

it('levels that would write a trace file are refused, and nothing changes', async () => {
  await using server = await startServer(bind, { restrictedEndpoints: [] });
  using grpc = grpcService(server.grpc);
  const message = 'Attempting to set invalid trace setting :trace file name is not given';
  const url = `${server.http}/v2/trace/setting`;
  expect(await callJson(url, { trace_level: ['TIMESTAMPS'], trace_rate: '1' })).toEqual([400, { error: message }]);
  await expect(
    grpc.call('TraceSetting', { settings: { trace_level: { value: ['TIMESTAMPS', 'TENSORS'] } } }),
  ).rejects.toMatchObject({ code: 3, details: message });
  expect(await callJson(url)).toEqual([200, DEFAULTS]);
});
