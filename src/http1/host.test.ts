import { describe, expect, it } from 'vitest';

import { authorityOf, hostName, isHost } from './host.js';

describe('a host', () => {
  it.each([
    ['', ''],
    ['h', 'h'],
    ['Models.Example.ORG:8000', 'models.example.org'],
    ['a_b-c.~d:', 'a_b-c.~d'],
    ['127.0.0.1:8000', '127.0.0.1'],
    ['[::1]:8000', '::1'],
    ['[2001:DB8::1.2.3.4]', '2001:db8::1.2.3.4'],
    ['[v1.a:b]', 'v1.a:b'],
    ["!$&'()*+,;=", "!$&'()*+,;="],
    ['%C3%A9.example:80', '%c3%a9.example'],
  ])('may be %j', (text, name) => {
    expect(isHost(text)).toBe(true);
    expect(hostName(text)).toBe(name);
  });

  it.each([
    'a b',
    '<script>',
    'user@h',
    'h/path',
    'h?x',
    'h#x',
    'h\\x',
    'http://h',
    'h:80:80',
    'h:8x',
    'h:-1',
    '::1',
    '[::1',
    '[::1]x',
    '[:::1]',
    '[1.2.3.4]',
    '[fe80::1%eth0]',
    '[]',
    '[v1]',
    '%',
    '%4',
    '%zz',
    'b\xfccher',
    'h\xa0',
    'h,b c',
    '"h"',
    'h\t',
    '{h}',
    'h^',
    'h|',
    '`',
  ])('cannot be %j', (text) => {
    expect(isHost(text)).toBe(false);
  });

  it.each([
    ['/v2', undefined],
    ['//h/v2', undefined],
    ['*', undefined],
    ['http://h:80/v2', 'h:80'],
    ['HTTPS://h?x', 'h'],
    ['http://u@h#', 'u@h'],
    ['http:///v2', ''],
  ])('of the target %j is %j', (target, authority) => {
    expect(authorityOf(target)).toBe(authority);
  });
});
