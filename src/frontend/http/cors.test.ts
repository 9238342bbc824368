import { describe, expect, it } from 'vitest';

import { FakeRequest } from '../../../test/support/fake-exchange.js';
import { CorsPolicy, isPreflight } from './cors.js';

const EXPOSE = ['Access-Control-Expose-Headers', 'Inference-Header-Content-Length, Content-Encoding'];

describe('the cross-origin policy', () => {
  it('lets any page read the answers', () => {
    const any = new CorsPolicy(['*']);
    expect(any.answerHeaders('https://a.example')).toEqual(['Access-Control-Allow-Origin', '*', ...EXPOSE]);
    expect(any.answerHeaders(undefined)).toEqual(['Access-Control-Allow-Origin', '*', ...EXPOSE]);
  });

  it('lets the pages of named origins read them, and no others', () => {
    const named = new CorsPolicy(['https://a.example', 'http://localhost:3000']);
    const allowed = ['Access-Control-Allow-Origin', 'https://a.example', ...EXPOSE, 'Vary', 'Origin'];
    expect(named.answerHeaders('https://a.example')).toEqual(allowed);
    for (const other of ['https://b.example', 'http://a.example', 'https://a.example:8443', 'null', undefined]) {
      expect(named.answerHeaders(other)).toEqual(['Vary', 'Origin']);
    }
  });

  it('allows in a preflight the methods of the path and the headers asked for', () => {
    const policy = new CorsPolicy(['*']);
    const vary = ['Vary', 'Access-Control-Request-Method, Access-Control-Request-Headers'];
    expect(policy.preflightHeaders(['GET', 'POST'], 'content-type,x-token')).toEqual([
      'Access-Control-Allow-Methods',
      'GET, POST',
      'Access-Control-Allow-Headers',
      'content-type,x-token',
      'Access-Control-Max-Age',
      '86400',
      ...vary,
    ]);
    expect(policy.preflightHeaders(['POST'], undefined)).not.toContain('Access-Control-Allow-Headers');
  });

  it('knows a preflight from another OPTIONS', () => {
    const headers = { origin: 'https://a.example', 'access-control-request-method': 'POST' };
    expect(isPreflight(new FakeRequest('OPTIONS', '/', { headers }))).toBe(true);
    expect(isPreflight(new FakeRequest('POST', '/', { headers }))).toBe(false);
    expect(isPreflight(new FakeRequest('OPTIONS', '/', { headers: { origin: 'https://a.example' } }))).toBe(false);
    expect(isPreflight(new FakeRequest('OPTIONS', '/', { headers: { 'access-control-request-method': 'POST' } }))).toBe(
      false,
    );
  });
});
