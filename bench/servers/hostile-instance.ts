// The callable of the hostile suite: it gives back what it gets.

import type { InferFunc } from 'tstriton';

const infer: InferFunc = (requests) => requests;

// oxlint-disable-next-line import/no-default-export -- what an instance group takes
export default infer;
