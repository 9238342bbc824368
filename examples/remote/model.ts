// A process that serves a model through the server of another one. Start it as often as there are to be instances.
//
//   REMOTE_TOKEN=secret node build/examples/remote/model.js grpc://localhost:8001
import { batch, defineModel, RemoteTriton, TritonError } from 'tstriton';

import { whenStarted } from '../when-started.js';

export const power = defineModel({
  modelName: 'Power',
  inputs: { base: { dtype: 'float64', shape: [1] }, exponent: { dtype: 'float64', shape: [1] } },
  outputs: { power: { dtype: 'float64', shape: [1] }, process: { dtype: 'int32', shape: [1] } },
  config: { maxBatchSize: 16 },
  strict: true,
});

export function remotePower(url: string, accessToken: string): RemoteTriton {
  return new RemoteTriton(url, { accessToken }).bind({
    ...power,
    inferFunc: batch(({ base, exponent }) => ({
      power: base.map((value, i) => value ** exponent.data[i]!),
      process: Array.from({ length: base.shape[0]! }, () => [process.pid]),
    })),
  });
}

await whenStarted(import.meta.url, async () => {
  const token = process.env['REMOTE_TOKEN'];
  if (token === undefined) throw new TritonError('INVALID_ARG', 'the variable REMOTE_TOKEN is not set');
  await remotePower(process.argv[2] ?? 'grpc://localhost:8001', token).serve();
});
