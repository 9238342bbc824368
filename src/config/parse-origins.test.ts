import { expect, it } from 'vitest';

import { parseOrigins } from './parse-origins.js';

it.each([
  [['*'], ['*']],
  [['https://a.example', '*'], ['*']],
  [[], []],
  [['https://a.example'], ['https://a.example']],
  [
    ['http://localhost:3000', 'https://A.Example:443', 'HTTPS://a.example'],
    ['http://localhost:3000', 'https://a.example'],
  ],
  [['capacitor://localhost'], ['capacitor://localhost']],
  [['null'], ['null']],
  [['http://[::1]:80'], ['http://[::1]']],
  [['https://bücher.example'], ['https://xn--bcher-kva.example']],
])('reads %o', (given, origins) => {
  expect(parseOrigins(given, 'corsAllowOrigin')).toEqual(origins);
});

it.each([
  '',
  'example.org',
  'https://a.example/',
  'https://a.example/path',
  'https://u@a.example',
  'https://*.example',
  '://x',
  'http://a b',
  'http://a:99999',
])('refuses %o', (origin) => {
  expect(() => parseOrigins(['https://a.example', origin], 'corsAllowOrigin')).toThrow(
    expect.objectContaining({
      code: 'INVALID_ARG',
      message: `corsAllowOrigin must be '*' or origins such as 'https://example.org', got ${JSON.stringify(origin)}`,
    }),
  );
});
