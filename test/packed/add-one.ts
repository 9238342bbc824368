// The module that `serve.ts` runs in a thread. What it adds may be preloaded with `--import`.
import type { InferenceRequest, Tensor } from 'tstriton';

interface Inputs {
  readonly x: Tensor<'float32'>;
}

const { step = 1 } = globalThis as { readonly step?: number };

// oxlint-disable-next-line import/no-default-export -- what an instance group's module is
export default function addOne(requests: readonly InferenceRequest[]) {
  return requests.map(({ inputs }) => ({ y: (inputs as unknown as Inputs).x.map((value) => value + step) }));
}
