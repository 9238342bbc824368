import { expect, it } from 'vitest';

import { AnsweredStream } from './answered-stream.js';
import type { InferStream, StreamAnswer } from './infer-stream.js';

/** A server that answers these requests, whichever were sent. */
function answering(ids: readonly string[]): InferStream<never, unknown> {
  const stream = {
    send: () => Promise.resolve(''),
    end() {},
    return: () => Promise.resolve(),
    async *[Symbol.asyncIterator](): AsyncGenerator<StreamAnswer<unknown>> {
      for (const requestId of ids)
        yield await Promise.resolve({ requestId, outputs: {}, error: undefined, final: true });
    },
  };
  return stream as unknown as InferStream<never, unknown>;
}

it('fails its requests when an answer is for none of them', async () => {
  const stream = new AnsweredStream(answering(['1', '1']));
  const requests = [stream.infer({}, {}), stream.infer({}, {})];
  await expect(requests[0]).resolves.toEqual({});
  await expect(requests[1]).rejects.toMatchObject({
    code: 'INTERNAL',
    message: "the server answered request '1' of a stream, where '2' waited: it takes no sequences over gRPC",
  });
  expect(stream.isOver).toBe(true);
});
