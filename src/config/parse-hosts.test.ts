import { expect, it } from 'vitest';

import { parseHosts } from './parse-hosts.js';

it.each([
  [[], []],
  [['example.org'], ['example.org']],
  [
    ['.example.org', 'a_b.example'],
    ['.example.org', 'a_b.example'],
  ],
  [['Example.ORG', 'example.org.'], ['example.org']],
  [['bücher.example'], ['xn--bcher-kva.example']],
  [['10.0.0.1'], ['10.0.0.1']],
])('reads %o', (given, hosts) => {
  expect(parseHosts(given, 'allowedHosts')).toEqual(hosts);
});

it.each([
  '.',
  '..a',
  '*',
  '*.example.org',
  'a b',
  'example.org:8000',
  'http://example.org',
  'u@h',
  'a/b',
  '[::1]',
  '<a>',
])('refuses %o', (host) => {
  expect(() => parseHosts(['a', host], 'allowedHosts')).toThrow(
    expect.objectContaining({
      code: 'INVALID_ARG',
      message: `allowedHosts must be names such as 'example.org', or '.example.org' with all names in it, got ${JSON.stringify(host)}`,
    }),
  );
});
