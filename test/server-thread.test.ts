// What a start of the server's thread loads: read from the build in dist.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const FOLDER = new URL('../dist/server/', import.meta.url);
const read = (file: string): string => readFileSync(new URL(file, FOLDER), 'utf8');

describe('server-thread.js of the build', () => {
  it("is one file: it imports nothing but Node's own modules", () => {
    const imported = [...read('server-thread.js').matchAll(/^(?:import|export) .*? from "(.+)";$/gm)].map(
      ([, from]) => from!,
    );
    expect(imported).toContain('node:worker_threads');
    expect(imported.filter((from) => !from.startsWith('node:'))).toEqual([]);
  });

  it('leaves the tables of messages to a file that is imported late', () => {
    expect(read('server-thread.js')).toContain('import("./server-thread-late.js")');
    expect(read('server-thread-late.js')).toContain('inference.ModelStatistics');
  });

  it('has a source map that leads to the TypeScript', () => {
    const { sources } = JSON.parse(read('server-thread.js.map')) as { readonly sources: readonly string[] };
    expect(sources).toContain('../../src/server/server-thread.ts');
    expect(sources.filter((source) => !source.startsWith('../../src/'))).toEqual([]);
  });
});
