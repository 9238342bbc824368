import { describe, expect, it } from 'vitest';
import type { TritonError } from '../errors.js';
import { httpError } from './http-error.js';

function errorOf(status: number, body: Buffer): TritonError {
  return httpError({ status, headers: {}, body }, 'http://h:8000');
}

describe('httpError', () => {
  it.each([
    [400, 'INVALID_ARG'],
    [401, 'UNKNOWN'],
    [403, 'UNKNOWN'],
    [404, 'NOT_FOUND'],
    [405, 'UNSUPPORTED'],
    [408, 'UNAVAILABLE'],
    [413, 'INVALID_ARG'],
    [415, 'UNSUPPORTED'],
    [418, 'INVALID_ARG'],
    [429, 'UNAVAILABLE'],
    [499, 'CANCELLED'],
    [500, 'INTERNAL'],
    [501, 'UNSUPPORTED'],
    [502, 'UNAVAILABLE'],
    [503, 'UNAVAILABLE'],
    [504, 'UNAVAILABLE'],
    [507, 'INTERNAL'],
    [204, 'UNKNOWN'],
    [301, 'UNKNOWN'],
  ])('gives status %i the code %s', (status, code) => {
    expect(errorOf(status, Buffer.from('{"error":"text"}'))).toMatchObject({ code, message: 'text' });
  });

  it.each([
    ['{"error":"Request for unknown model: \'M\' is not found"}', "Request for unknown model: 'M' is not found"],
    ['{"error":""}', 'http://h:8000 answered with HTTP status 502: {"error":""}'],
    ['{"detail":1}', 'http://h:8000 answered with HTTP status 502: {"detail":1}'],
    ['<html>Bad Gateway</html>\n', 'http://h:8000 answered with HTTP status 502: <html>Bad Gateway</html>'],
    ['', 'http://h:8000 answered with HTTP status 502'],
  ])('reads the message of %j', (body, message) => {
    expect(errorOf(502, Buffer.from(body)).message).toBe(message);
  });

  it('does not repeat a long text in full', () => {
    expect(errorOf(502, Buffer.alloc(1_000_000, 'x')).message.length).toBeLessThan(1100);
  });
});
