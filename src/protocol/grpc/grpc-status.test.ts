import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { ERROR_CODES } from '../../errors.js';
import { CODE_OF_STATUS, decodeGrpcMessage, encodeGrpcMessage, GRPC_STATUS, STATUS_OF_CODE } from './grpc-status.js';

describe('the table of status codes', () => {
  it.each([
    ['UNKNOWN', 2],
    ['INTERNAL', 13],
    ['NOT_FOUND', 5],
    ['INVALID_ARG', 3],
    ['UNAVAILABLE', 14],
    ['UNSUPPORTED', 12],
    ['ALREADY_EXISTS', 6],
    ['CANCELLED', 1],
    ['DEADLINE_EXCEEDED', 4],
    ['UNAUTHENTICATED', 16],
    ['PERMISSION_DENIED', 7],
    ['TOO_LARGE', 8],
  ] as const)('gives the code %s status %i', (code, status) => {
    expect(STATUS_OF_CODE[code]).toBe(status);
  });

  it('is total both ways, and back again gives the same code, but where only the text tells', () => {
    expect(Object.keys(STATUS_OF_CODE).sort()).toEqual([...ERROR_CODES].sort());
    for (const status of Object.values(GRPC_STATUS)) expect(ERROR_CODES).toContain(CODE_OF_STATUS[status]);
    for (const code of ERROR_CODES) {
      expect(CODE_OF_STATUS[STATUS_OF_CODE[code]]).toBe(code === 'TOO_LARGE' ? 'UNAVAILABLE' : code);
    }
  });
});

describe('encodeGrpcMessage', () => {
  it.each([
    ['', ''],
    ['x', 'x'],
    ["Request for unknown model: 'm' is not found", "Request for unknown model: 'm' is not found"],
    ['100%', '100%25'],
    ['two\nlines\r\n', 'two%0Alines%0D%0A'],
    ['ünknown', '%C3%BCnknown'],
    ['日本', '%E6%97%A5%E6%9C%AC'],
    ['got [3,2]. ', 'got [3,2].%20'],
    [' x', '%20x'],
    [' ', '%20'],
    ['~ a tilde, \x7f', '~ a tilde, %7F'],
    ['\ud800 alone', '%EF%BF%BD alone'],
  ])('encodes %j as %j', (message, encoded) => {
    expect(encodeGrpcMessage(message)).toBe(encoded);
  });

  it.each([
    ['plain', 'x'.repeat(100_000)],
    ['two bytes a character', 'ü'.repeat(50_000)],
    ['four bytes a character', '😀'.repeat(50_000)],
    ['shifted by one', `a${'😀'.repeat(50_000)}`],
    ['escapes', '%'.repeat(10_000)],
  ])('cuts a long message between characters and escapes: %s', (_, message) => {
    const encoded = encodeGrpcMessage(message);
    expect(encoded.length).toBeLessThanOrEqual(6144);
    expect(encoded.length).toBeGreaterThan(6100);
    expect(encoded.endsWith('...')).toBe(true);
    const kept = decodeGrpcMessage(encoded).slice(0, -3);
    expect(message.startsWith(kept)).toBe(true);
  });

  it('keeps a message of exactly the longest length whole', () => {
    expect(encodeGrpcMessage('x'.repeat(6144))).toBe('x'.repeat(6144));
    expect(encodeGrpcMessage(`${'x'.repeat(6143)}\n`)).toHaveLength(6144);
  });

  it('gives header values of printable ASCII from which any short message comes back', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 400 }), (message) => {
        const encoded = encodeGrpcMessage(message);
        expect(encoded).toMatch(/^(?:[!-~](?:[ -~]*[!-~])?)?$/);
        expect(decodeGrpcMessage(encoded)).toBe(Buffer.from(message).toString());
      }),
    );
  });
});

describe('decodeGrpcMessage', () => {
  it.each([
    ['50% off', '50% off'],
    ['%', '%'],
    ['%4', '%4'],
    ['%zz', '%zz'],
    ['%c3%bc', 'ü'],
    ['%FF', '%FF'],
  ])('takes %j as %j, whatever a server sends', (value, message) => {
    expect(decodeGrpcMessage(value)).toBe(message);
  });
});
