// What may happen in the lives of models, as plain data that fast-check generates and shrinks.
import type fc from 'fast-check';

export const NAMES = ['A', 'B', 'W'] as const;
export type Name = (typeof NAMES)[number];
export const VERSIONS = [1, 2, 3] as const;
/** Where the callables run. Those of W stream. */
export const KINDS = ['here', 'thread', 'threads', 'both'] as const;
export type Kind = (typeof KINDS)[number];
export const WAYS = ['json', 'grpc', 'stream'] as const;
export type Way = (typeof WAYS)[number];
export const PACES = ['none', 'turn', 'one', 'all'] as const;
/** `none`: the program alone changes what is served; `explicit`: clients too; `poll`: a folder of models too. */
export const MODES = ['none', 'explicit', 'poll'] as const;
export type Mode = (typeof MODES)[number];

export interface Declared {
  readonly version: number;
  readonly kind: Kind;
  /** How many of its setups fail at first. */
  readonly failures: number;
}

export interface Asked {
  /** 0: the latest. */
  readonly version: number;
  readonly way: Way;
  readonly what: 'answer' | 'fail' | 'late' | 'untilGone';
  readonly rows: number;
  /** After so many milliseconds its client goes. */
  readonly leaves: number | undefined;
}

export type Deed = { readonly pace: (typeof PACES)[number] } & (
  | { readonly deed: 'requests'; readonly name: Name; readonly asked: readonly Asked[] }
  | { readonly deed: 'bind' | 'rebind'; readonly name: Name; readonly declared: Declared }
  | { readonly deed: 'unbind'; readonly name: Name; readonly version: number }
  | { readonly deed: 'load'; readonly name: Name; readonly rows: number | undefined }
  | { readonly deed: 'unload'; readonly name: Name }
  | { readonly deed: 'crash'; readonly name: Name; readonly version: number }
  | { readonly deed: 'folder'; readonly content: 'answers' | 'broken' | 'gone' }
  | { readonly deed: 'poll' }
  | { readonly deed: 'restart' }
  | { readonly deed: 'calm' }
);

/** Each life begins with a version of each name. */
export const FIRST_DEEDS: readonly Deed[] = [
  { deed: 'bind', name: 'A', declared: { version: 1, kind: 'here', failures: 0 }, pace: 'none' },
  { deed: 'bind', name: 'B', declared: { version: 1, kind: 'threads', failures: 0 }, pace: 'none' },
  { deed: 'bind', name: 'W', declared: { version: 1, kind: 'both', failures: 0 }, pace: 'none' },
  { deed: 'calm', pace: 'none' },
];

/** `mode` decides which of them there are. */
export function deeds(check: typeof fc, mode: Mode): fc.Arbitrary<Deed> {
  const name = check.constantFrom(...NAMES);
  const version = check.constantFrom(...VERSIONS);
  const pace = check.constantFrom(...PACES);
  const often = <T>(value: T, weight: number) => ({ arbitrary: check.constant(value), weight });
  const declared = check.record({
    version,
    // Threads take their time to start.
    kind: check.oneof(often('here' as const, 3), { arbitrary: check.constantFrom(...KINDS), weight: 4 }),
    failures: check.oneof(often(0, 5), often(1, 1), often(2, 1)),
  });
  const asked = check.record({
    version: check.oneof(often(0, 2), { arbitrary: version, weight: 1 }),
    way: check.constantFrom(...WAYS),
    what: check.oneof(
      often('answer' as const, 5),
      often('late' as const, 4),
      often('fail' as const, 1),
      often('untilGone' as const, 1),
    ),
    rows: check.integer({ min: 1, max: 2 }),
    leaves: check.oneof(often(undefined, 9), { arbitrary: check.integer({ min: 0, max: 8 }), weight: 1 }),
  });
  const weighted = (weight: number, record: Readonly<Record<string, fc.Arbitrary<unknown>>>) => ({
    weight,
    arbitrary: check.record({ pace, ...record }) as unknown as fc.Arbitrary<Deed>,
  });
  const deed = (...deeds: Deed['deed'][]) => check.constantFrom(...deeds);
  const everywhere = [
    weighted(18, {
      deed: deed('requests'),
      name,
      asked: check.array(asked, { minLength: 1, maxLength: 20, size: 'max' }),
    }),
    weighted(6, { deed: deed('bind'), name, declared }),
    weighted(4, { deed: deed('rebind'), name, declared }),
    weighted(3, { deed: deed('unbind'), name, version: check.oneof(often(0, 1), { arbitrary: version, weight: 3 }) }),
    weighted(3, { deed: deed('crash'), name, version: check.oneof(often(0, 1), { arbitrary: version, weight: 1 }) }),
    weighted(4, { deed: deed('calm') }),
    weighted(1, { deed: deed('restart') }),
  ];
  const rows = check.oneof(often(undefined, 2), { arbitrary: check.integer({ min: 2, max: 6 }), weight: 2 });
  const byClients = [weighted(6, { deed: deed('load'), name, rows }), weighted(5, { deed: deed('unload'), name })];
  const content = check.oneof(often('answers' as const, 3), often('broken' as const, 1), often('gone' as const, 1));
  const inFolders = [weighted(4, { deed: deed('folder'), content }), weighted(4, { deed: deed('poll') })];
  return check.oneof(...everywhere, ...(mode === 'explicit' ? byClients : []), ...(mode === 'poll' ? inFolders : []));
}
