// The build of the client for browsers has this in the place of `infer-stream.ts`, because `fetch` cannot carry a stream of requests,
// and of `infer-sequence.ts`, to stay small.

import { TritonError } from '../../errors.js';

export const STREAM_MEMBERS: readonly string[] = [];

export class InferStream {
  constructor() {
    throw new TritonError('UNSUPPORTED', 'sequence() is not in the build for browsers');
  }
}

export { InferStream as InferSequence };
