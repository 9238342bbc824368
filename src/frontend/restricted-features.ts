// Which categories of endpoints require a header, and whether a request has it. Each protocol makes one table, once.

import { createHash, timingSafeEqual } from 'node:crypto';

import { lowerCase } from '../ascii.js';

export const CATEGORIES = [
  'health',
  'metadata',
  'inference',
  'shared-memory',
  'model-config',
  'model-repository',
  'statistics',
  'trace',
  'logging',
] as const;

export type Category = (typeof CATEGORIES)[number];

/** A group of categories with the header and the value that a request for them must have. */
export interface Restriction {
  readonly categories: readonly Category[];
  readonly key: string;
  readonly value: string;
}

interface Guard {
  readonly header: string;
  readonly key: string;
  readonly digest: Buffer;
}

export class RestrictedFeatures {
  readonly #guards = new Map<Category, Guard>();

  /** `headerPrefix`: the protocol's prefix for keys in headers. Each category is in at most one restriction. */
  constructor(restrictions: readonly Restriction[], headerPrefix = '') {
    for (const { categories, key, value } of restrictions) {
      const guard = { key: headerPrefix + key, header: lowerCase(headerPrefix + key), digest: digest(value) };
      for (const category of categories) this.#guards.set(category, guard);
    }
  }

  /** Whether requests for this category require a header. */
  has(category: Category): boolean {
    return this.#guards.has(category);
  }

  /** The header that the request lacks or has with a wrong value; undefined when the request may pass. */
  missing(category: Category, header: (lowerCaseName: string) => string | undefined): string | undefined {
    const guard = this.#guards.get(category);
    if (guard === undefined) return undefined;
    const value = header(guard.header);
    // Digests have one length and reveal nothing of the value, so every comparison takes the same time.
    return value !== undefined && timingSafeEqual(digest(value), guard.digest) ? undefined : guard.key;
  }
}

function digest(value: string): Buffer {
  return createHash('sha256').update(value).digest();
}
