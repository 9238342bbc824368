import { describe, expect, it } from 'vitest';
import type { MessagePart } from './check-fields.js';
import { HeaderList } from './header-list.js';

const REQUEST = [':method', 'POST', ':scheme', 'http', ':path', '/p'];

describe('HeaderList', () => {
  it('joins the lines of a field', () => {
    const list = new HeaderList(['a', '1', 'b', 'a', 'a', '2', 'cookie', 'x=1', 'cookie', 'y=2']);
    expect(list.get('a')).toBe('1, 2');
    expect(list.get('b')).toBe('a');
    expect(list.get('cookie')).toBe('x=1; y=2');
    expect(list.get('1')).toBeUndefined();
  });

  it('knows the length that is announced', () => {
    expect(new HeaderList(['content-length', '12']).contentLength).toBe(12);
    expect(new HeaderList(['content-length', '12', 'content-length', '12']).contentLength).toBe(12);
    expect(new HeaderList(['a', 'content-length']).contentLength).toBeUndefined();
  });

  // RFC 9113, sections 8.2 and 8.3.
  it.each<[string, MessagePart, readonly string[], RegExp | undefined]>([
    ['a request', 'request', [...REQUEST, ':authority', 'h', 'te', 'trailers'], undefined],
    ['a request without fields', 'request', [], /no :method/],
    ['a request without a method', 'request', [':scheme', 'http', ':path', '/'], /no :method/],
    ['a request without a scheme', 'request', [':method', 'GET', ':path', '/'], /no :scheme/],
    ['a request without a path', 'request', [':method', 'GET', ':scheme', 'http'], /no :path/],
    ['an empty path', 'request', [':method', 'GET', ':scheme', 'http', ':path', ''], /no :path/],
    ['a path that is none', 'request', [':method', 'GET', ':scheme', 'http', ':path', 'p'], /:path 'p'/],
    ['a star for OPTIONS', 'request', [':method', 'OPTIONS', ':scheme', 'http', ':path', '*'], undefined],
    ['a star for GET', 'request', [':method', 'GET', ':scheme', 'http', ':path', '*'], /:path/],
    ['CONNECT', 'request', [':method', 'CONNECT', ':authority', 'h:1'], undefined],
    ['CONNECT with a path', 'request', [':method', 'CONNECT', ':authority', 'h', ':path', '/'], /CONNECT/],
    ['CONNECT to nowhere', 'request', [':method', 'CONNECT'], /CONNECT/],
    ['a doubled method', 'request', [...REQUEST, ':method', 'GET'], /:method twice/],
    ['a field of responses', 'request', [...REQUEST, ':status', '200'], /:status/],
    ['an unknown pseudo-header field', 'request', [...REQUEST, ':protocol', 'x'], /:protocol/],
    ['a pseudo-header field at the end', 'request', ['a', 'b', ...REQUEST], /after a regular/],
    ['connection', 'request', [...REQUEST, 'connection', 'close'], /connection/],
    ['proxy-connection', 'request', [...REQUEST, 'proxy-connection', 'x'], /proxy-connection/],
    ['keep-alive', 'response', [':status', '200', 'keep-alive', '5'], /keep-alive/],
    ['transfer-encoding', 'request', [...REQUEST, 'transfer-encoding', 'chunked'], /transfer-encoding/],
    ['upgrade', 'trailers', ['upgrade', 'h2c'], /upgrade/],
    ['te with something else', 'request', [...REQUEST, 'te', 'gzip'], /te with/],
    ['a content-length that is none', 'request', [...REQUEST, 'content-length', '-1'], /content-length/],
    ['two lengths', 'request', [...REQUEST, 'content-length', '1', 'content-length', '2'], /twice/],
    ['a response', 'response', [':status', '404'], undefined],
    ['a response without a status', 'response', ['a', 'b'], /no :status/],
    ['a status that is none', 'response', [':status', '20'], /no :status/],
    ['a path in a response', 'response', [':status', '200', ':path', '/'], /:path/],
    ['trailers', 'trailers', ['grpc-status', '0'], undefined],
    ['a status in trailers', 'trailers', [':status', '200'], /:status in trailers/],
  ])('judges %s', (_, part, fields, problem) => {
    const list = new HeaderList(fields);
    for (let i = 0; i < 2; i++) expect(String(list.problemAs(part))).toMatch(problem ?? /^undefined$/);
  });

  it('judges the same fields anew when they are another part of a message', () => {
    const list = new HeaderList([':status', '200']);
    expect(list.problemAs('response')).toBeUndefined();
    expect(list.problemAs('trailers')).toMatch(/:status/);
    expect(list.problemAs('response')).toBeUndefined();
  });
});
