// The callable of the callables suite's instance threads; `args` says which.

import type { InferFunc, SetupContext } from 'tstriton';

import { spin, work } from '../callables-workload.js';
import { countPostedBytes } from '../untransferred-bytes.js';

export type InstanceTask =
  | { readonly kind: 'echo'; readonly counts?: Int32Array }
  | { readonly kind: 'spin' }
  | { readonly kind: 'work'; readonly steps: number };

let task: InstanceTask = { kind: 'echo' };

export function setup(context: SetupContext): void {
  task = context.args as InstanceTask;
  if (task.kind === 'echo' && task.counts) countPostedBytes(task.counts);
}

const infer: InferFunc = (requests) => {
  for (const { inputs } of requests) {
    if (task.kind === 'spin') spin(Number(inputs['x']!.data[0]));
    if (task.kind === 'work') work(task.steps);
  }
  return requests; // a request that is returned stands for its inputs
};

// oxlint-disable-next-line import/no-default-export -- what an instance group takes
export default infer;
