// The module that `serve.ts` runs in a thread.
import type { InferenceRequest, Tensor } from 'tstriton';

interface Inputs {
  readonly x: Tensor<'float32'>;
}

// oxlint-disable-next-line import/no-default-export -- what an instance group's module is
export default function addOne(requests: readonly InferenceRequest[]) {
  return requests.map(({ inputs }) => ({ y: (inputs as unknown as Inputs).x.map((value) => value + 1) }));
}
