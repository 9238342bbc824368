import { describe, expect, it } from 'vitest';

import type { PacedWork } from '../pacing/paced-work.js';
import { LEAST_LARGE_BYTES } from '../sockets/large-memory.js';
import { readBody } from './complete-request.js';

const large = () => Buffer.allocUnsafeSlow(LEAST_LARGE_BYTES);

/** Work that pauses once and then has read inputs from these bytes. */
function* reading(inputs: readonly Uint8Array[]) {
  yield;
  return { request: { inputs: inputs.map((bytes) => ({ bytes })) } };
}

// eslint-disable-next-line require-yield
function* failing(): PacedWork<never> {
  throw new Error('malformed');
}

function toEnd<T>(work: PacedWork<T>): T {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}

describe('readBody', () => {
  it('frees a large body when the request has been read from it', () => {
    const body = large();
    const values = new Uint8Array([1, 2, 3]);
    const { request } = toEnd(readBody(body, reading([values])));
    expect(body.buffer.byteLength).toBe(0);
    expect(request.inputs[0]!.bytes).toEqual(new Uint8Array([1, 2, 3]));
  });

  it('keeps a body in which an input lies', () => {
    const body = large();
    toEnd(readBody(body, reading([new Uint8Array(4), body.subarray(16, 32)])));
    expect(body.buffer.byteLength).toBe(LEAST_LARGE_BYTES);
  });

  it('frees the body of a malformed request', () => {
    const body = large();
    expect(() => toEnd(readBody(body, failing()))).toThrow('malformed');
    expect(body.buffer.byteLength).toBe(0);
  });

  it('frees the body of a request that is cancelled while it is read', () => {
    const body = large();
    const work = readBody(body, reading([]));
    work.next();
    work.return(undefined as never);
    expect(body.buffer.byteLength).toBe(0);
  });

  it('leaves small bodies to the collector', () => {
    const body = Buffer.allocUnsafeSlow(LEAST_LARGE_BYTES - 1);
    toEnd(readBody(body, reading([])));
    expect(body.buffer.byteLength).toBe(LEAST_LARGE_BYTES - 1);
  });
});
