// Good code compiles and bad code does not; test/types.test.ts runs the compiler over this folder.
import type * as tstriton from 'tstriton';

export type EntryPoint = typeof tstriton;

// @ts-expect-error The entry point has no member of this name.
export type Missing = EntryPoint['noSuchExport'];
