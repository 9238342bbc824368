import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { TritonError } from '../../errors.js';
import { TritonTimeoutError } from '../client-errors.js';
import { httpError } from './http-error.js';

function errorOf(status: number, body: Buffer): TritonError {
  return httpError({ status, headers: {}, body }, 'http://h:8000');
}

describe('httpError', () => {
  it.each([
    [400, 'INVALID_ARG'],
    [401, 'UNAUTHENTICATED'],
    [403, 'PERMISSION_DENIED'],
    [404, 'NOT_FOUND'],
    [405, 'UNSUPPORTED'],
    [407, 'UNAUTHENTICATED'],
    [408, 'DEADLINE_EXCEEDED'],
    [413, 'TOO_LARGE'],
    [415, 'UNSUPPORTED'],
    [418, 'INVALID_ARG'],
    [429, 'UNAVAILABLE'],
    [499, 'CANCELLED'],
    [500, 'INTERNAL'],
    [501, 'UNSUPPORTED'],
    [502, 'UNAVAILABLE'],
    [503, 'UNAVAILABLE'],
    [504, 'DEADLINE_EXCEEDED'],
    [507, 'INTERNAL'],
    [204, 'UNKNOWN'],
    [301, 'UNKNOWN'],
  ])('gives status %i the code %s', (status, code) => {
    expect(errorOf(status, Buffer.from('{"error":"text"}'))).toMatchObject({
      code,
      status: status < 400 ? 400 : status,
      message: 'text',
    });
  });

  it.each([
    ['{"error":"Request for unknown model: \'M\' is not found"}', "Request for unknown model: 'M' is not found"],
    ['{"error":""}', 'http://h:8000 answered with HTTP status 502: {"error":""}'],
    ['{"detail":1}', 'http://h:8000 answered with HTTP status 502: {"detail":1}'],
    ['<html>Bad Gateway</html>\n', 'http://h:8000 answered with HTTP status 502: <html>Bad Gateway</html>'],
    ['', 'http://h:8000 answered with HTTP status 502'],
    ['{"error":"Not Found"}', 'http://h:8000 answered with HTTP status 502: {"error":"Not Found"}'],
  ])('reads the message of %j', (body, message) => {
    expect(errorOf(502, Buffer.from(body)).message).toBe(message);
  });

  it('is a timeout where a time limit of the server or of a proxy has passed', () => {
    expect(TritonTimeoutError.is(errorOf(504, Buffer.from('upstream request timeout')))).toBe(true);
    expect(TritonTimeoutError.is(errorOf(503, Buffer.from('upstream request timeout')))).toBe(false);
  });

  it('says where a redirect leads, which is not followed', () => {
    const answer = { status: 308, headers: { location: 'https://h/v2' }, body: Buffer.from('<html>') };
    expect(httpError(answer, 'http://h:8000').message).toBe(
      'http://h:8000 answered with HTTP status 308, a redirect to https://h/v2, which is not followed',
    );
  });

  it('does not show the bytes of a body in an encoding that the client did not ask for', () => {
    const body = gzipSync('{"error":"text"}');
    expect(httpError({ status: 502, headers: { 'content-encoding': 'gzip' }, body }, 'http://h:8000')).toMatchObject({
      code: 'UNAVAILABLE',
      message:
        'http://h:8000 answered with HTTP status 502 in the content encoding gzip, which the client did not ask for',
    });
  });

  it('does not repeat a long text in full', () => {
    expect(errorOf(502, Buffer.alloc(1_000_000, 'x')).message.length).toBeLessThan(1100);
  });
});
