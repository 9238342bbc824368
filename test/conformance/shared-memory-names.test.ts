import { expect, it } from 'vitest';
import { SharedMemoryNames } from './shared-memory-names.js';

it('gives every replay objects of its own, with names as long as the recorded ones', () => {
  const [one, other] = [new SharedMemoryNames(), new SharedMemoryNames()];
  const text = '"/golden_http_a" "golden_grpc_region_2" "golden_no_such_region"';
  expect(one.own(text)).toHaveLength(text.length);
  expect(one.own(text)).not.toBe(other.own(text));
  expect(one.own(text)).toMatch(/^"\/\w+a" "\w+n_2" "golden_no_such_region"$/);
});

it('changes names in what is base64 too, and leaves other bytes as they are', () => {
  const names = new SharedMemoryNames();
  const bytes = Buffer.from('\x12\xffgolden_grpc_region\x00', 'latin1');
  const { request_base64: request, body_base64: bodies } = names.in({
    request_base64: bytes.toString('base64'),
    body_base64: ['/////w=='],
  });
  expect(Buffer.from(request, 'base64').toString('latin1')).toBe(names.own(bytes.toString('latin1')));
  expect(bodies).toEqual(['/////w==']);
});

it('leaves the name of a case, by which rules list it', () => {
  const { name, key } = new SharedMemoryNames().in({ name: 'register golden_http_a', key: 'golden_http_a' });
  expect(name).toBe('register golden_http_a');
  expect(key).not.toBe('golden_http_a');
});
