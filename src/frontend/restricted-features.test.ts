import { describe, expect, it } from 'vitest';
import { RestrictedFeatures } from './restricted-features.js';

const RESTRICTIONS = [
  { categories: ['trace', 'logging'], key: 'Admin-Key', value: 'secret' },
  { categories: ['health'], key: 'probe', value: 'yes' },
] as const;

function headers(given: Readonly<Record<string, string>>) {
  return (name: string) => given[name];
}

describe('restricted features', () => {
  const features = new RestrictedFeatures(RESTRICTIONS);

  it('let everything else pass', () => {
    expect(features.missing('inference', headers({}))).toBeUndefined();
  });

  it('want the header with exactly its value, and name it as it was configured', () => {
    expect(features.missing('trace', headers({}))).toBe('Admin-Key');
    expect(features.missing('trace', headers({ 'admin-key': 'Secret' }))).toBe('Admin-Key');
    expect(features.missing('logging', headers({ 'admin-key': 'secret ' }))).toBe('Admin-Key');
    expect(features.missing('trace', headers({ probe: 'secret' }))).toBe('Admin-Key');
    expect(features.missing('trace', headers({ 'admin-key': 'secret' }))).toBeUndefined();
    expect(features.missing('health', headers({ probe: 'yes' }))).toBeUndefined();
  });

  it('look for the key behind the prefix of the protocol', () => {
    const grpc = new RestrictedFeatures(RESTRICTIONS, 'triton-grpc-protocol-');
    expect(grpc.missing('trace', headers({ 'admin-key': 'secret' }))).toBe('triton-grpc-protocol-Admin-Key');
    expect(grpc.missing('trace', headers({ 'triton-grpc-protocol-admin-key': 'secret' }))).toBeUndefined();
  });
});
