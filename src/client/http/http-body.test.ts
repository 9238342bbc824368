import { describe, expect, it } from 'vitest';

import { HttpBody } from './http-body.js';

const BYTES = Buffer.from(Array.from({ length: 1000 }, (_, i) => i % 251));

/** Gives the bytes in pieces, out of memory that is used again. */
function gather(body: HttpBody, bytes: Buffer, piece: number): Buffer {
  for (let at = 0; at < bytes.length; at += piece) {
    const end = Math.min(at + piece, bytes.length);
    const shared = Buffer.concat([Buffer.from('xx'), bytes.subarray(at, end)]);
    body.add(shared, 2, shared.length);
    shared.fill('y');
  }
  return body.end();
}

describe('the body of an answer', () => {
  it.each<[string, object]>([
    ['of unknown length', {}],
    ['of the stated length', { 'content-length': '1000' }],
    ['of another length than is stated', { 'content-length': '999999' }],
    ['that is longer than is stated', { 'content-length': '10' }],
    ['that says where its tensors begin', { 'content-length': '1000', 'inference-header-content-length': '13' }],
    ['that says so without its length', { 'inference-header-content-length': '21' }],
  ])('%s lies in memory that nothing else lies in, its tensors aligned', (_, headers) => {
    const aligned = Number((headers as Record<string, string>)['inference-header-content-length'] ?? 0);
    for (const piece of [1, 7, 100, 1000]) {
      const body = gather(new HttpBody(headers, 1_000_000), BYTES, piece);
      expect(body.equals(BYTES)).toBe(true);
      expect((body.byteOffset + aligned) % 8).toBe(0);
      expect(body.byteOffset + body.length).toBe(body.buffer.byteLength);
    }
  });

  it('may have nothing', () => {
    expect(new HttpBody({}, 10).end()).toHaveLength(0);
  });

  it('takes no memory for what is only stated', () => {
    const body = new HttpBody({ 'content-length': '1000000' }, 2_000_000);
    body.add(BYTES, 0, 1000);
    expect(body.rest()).toBeUndefined();
    for (let i = 1; i < 65; i++) body.add(BYTES, 0, 1000);
    expect(body.rest()).toHaveLength(935_000);
  });

  it('may be received where it is to lie', () => {
    const body = new HttpBody({ 'content-length': '1000' }, 1000);
    body.add(BYTES, 0, 500);
    const rest = body.rest()!;
    BYTES.copy(rest, 0, 500);
    body.add(rest, 0, 200);
    body.rest();
    body.add(BYTES, 700, 1000);
    expect(body.end().equals(BYTES)).toBe(true);
  });

  it('is too large when it is announced so, or has come so', () => {
    expect(new HttpBody({ 'content-length': '11' }, 10).isTooLarge).toBe(true);
    const body = new HttpBody({}, 10);
    body.add(BYTES, 0, 10);
    expect(body.isTooLarge).toBe(false);
    body.add(BYTES, 0, 1);
    expect(body.isTooLarge).toBe(true);
  });
});
