import { describe, expect, it, vi } from 'vitest';

import { FakeRequest } from '../../../test/support/fake-exchange.js';
import { RefusedOrigins } from './refused-origins.js';

function logged(...requests: readonly Readonly<Record<string, string>>[]) {
  const warn = vi.fn<(message: string) => void>();
  const origins = new RefusedOrigins({ warn });
  const allowed = (origin: string) => origin === 'https://a.example';
  for (const headers of requests) origins.notice(new FakeRequest('POST', '/v2', { headers }), allowed);
  return warn.mock.calls.map(([message]) => message);
}

describe('a page that may not read answers', () => {
  it('is named in the log once', () => {
    const lines = logged({ origin: 'https://b.example' }, { origin: 'https://b.example' }, { origin: 'null' });
    expect(lines).toEqual([expect.stringContaining("'https://b.example'"), expect.stringContaining("'null'")]);
  });

  it('is not one of an allowed origin, of the server itself, or no page at all', () => {
    const own = { origin: 'http://localhost:8000', host: 'localhost:8000' };
    expect(logged({ origin: 'https://a.example' }, own, {})).toEqual([]);
  });

  it('does not fill the log by claiming many origins, or long ones', () => {
    const many = Array.from({ length: 150 }, (_, i) => ({ origin: `https://${i}.example` }));
    expect(logged({ origin: `https://${'x'.repeat(500)}` }, ...many)).toHaveLength(100);
  });
});
