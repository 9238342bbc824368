import { describe, expect, it } from 'vitest';
import { parseUrl } from './parse-url.js';

describe('parseUrl', () => {
  it.each([
    ['localhost', 'http', false, 'localhost', 8000, '', 'http://localhost:8000'],
    ['localhost:9000', 'http', false, 'localhost', 9000, '', 'http://localhost:9000'],
    ['127.0.0.1:80', 'http', false, '127.0.0.1', 80, '', 'http://127.0.0.1:80'],
    ['my_host:8000', 'http', false, 'my_host', 8000, '', 'http://my_host:8000'],
    ['http://h', 'http', false, 'h', 8000, '', 'http://h:8000'],
    ['http://h:80', 'http', false, 'h', 80, '', 'http://h:80'],
    ['HTTP://Host/', 'http', false, 'host', 8000, '', 'http://host:8000'],
    ['http://h/models/v1/', 'http', false, 'h', 8000, '/models/v1', 'http://h:8000/models/v1'],
    ['https://h', 'http', true, 'h', 8000, '', 'https://h:8000'],
    ['https://h:443/x', 'http', true, 'h', 443, '/x', 'https://h:443/x'],
    ['grpc://h', 'grpc', false, 'h', 8001, '', 'grpc://h:8001'],
    ['GRPC://H:9/', 'grpc', false, 'h', 9, '', 'grpc://h:9'],
    ['grpcs://h', 'grpc', true, 'h', 8001, '', 'grpcs://h:8001'],
    ['[::1]', 'http', false, '::1', 8000, '', 'http://[::1]:8000'],
    ['grpc://[::1]:65535', 'grpc', false, '::1', 65535, '', 'grpc://[::1]:65535'],
  ])('reads %s', (url, protocol, tls, host, port, pathPrefix, address) => {
    expect(parseUrl(url)).toEqual({ protocol, tls, host, port, pathPrefix, address });
  });

  it.each([
    ['', 'expected [scheme://]host[:port][/path]'],
    ['http://', 'expected [scheme://]host[:port][/path]'],
    [' localhost', 'expected [scheme://]host[:port][/path]'],
    ['local host', 'expected [scheme://]host[:port][/path]'],
    ['http://h?x=1', 'expected [scheme://]host[:port][/path]'],
    ['http://h/#x', 'expected [scheme://]host[:port][/path]'],
    ['http://h:foo', 'expected [scheme://]host[:port][/path]'],
    ['http://h:', 'expected [scheme://]host[:port][/path]'],
    ['::1', 'expected [scheme://]host[:port][/path]'],
    ['ftp://h', 'expected one of the schemes http, https, grpc, grpcs, got ftp'],
    ['http://h:99999', 'expected a port from 1 to 65535, got 99999'],
    ['http://h:0', 'expected a port from 1 to 65535, got 0'],
    ['http://[1:2]', 'expected an IPv6 address in the brackets, got 1:2'],
    ['grpc://h/path', 'gRPC has no paths, got /path'],
  ])('refuses %j', (url, reason) => {
    expect(() => parseUrl(url)).toThrow(`invalid url ${JSON.stringify(url)} of a client: ${reason}`);
    expect(() => parseUrl(url)).toThrow(expect.objectContaining({ code: 'INVALID_ARG' }));
  });

  it('refuses credentials and does not repeat them', () => {
    expect(() => parseUrl('http://user:secret@h')).toThrow('invalid url "http://***@h"');
  });

  it.each([
    [undefined, 'url of a client must be a string, got undefined'],
    [null, 'url of a client must be a string, got null'],
    [8000, 'url of a client must be a string, got number'],
  ])('refuses %s', (url, message) => {
    expect(() => parseUrl(url)).toThrow(message);
  });
});
