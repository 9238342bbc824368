// The models of the application. With all ports off, only the application's own port serves them.
import { batch, defineModel, Triton } from 'tstriton';

export const double = defineModel({
  modelName: 'Double',
  inputs: { x: { dtype: 'float32', shape: [-1] } },
  outputs: { y: { dtype: 'float32', shape: [-1] } },
  strict: true,
});

export function modelServer(): Triton {
  const triton = new Triton({ allowHttp: false, allowGrpc: false, allowMetrics: false, logInfo: false });
  triton.bind({ ...double, inferFunc: batch(({ x }) => ({ y: x.map((value) => 2 * value) })) });
  return triton;
}
