// The public API as its users' compilers see it: the emitted declarations of the entry points and of the modules that
// they export from. A change here is a change for users: `npx vitest run test/api.test.ts -u` records it.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { describe, expect, it } from 'vitest';

const DIST = new URL('../dist/', import.meta.url);
const ENTRIES = ['index.d.ts', 'client/index.d.ts', 'client/shared-memory/index.d.ts', 'testing/index.d.ts'];

/** A declaration file without what is not declared in it: source map comments. */
function read(url: URL): string {
  return readFileSync(fileURLToPath(url), 'utf8').replace(/\n?\/\/# sourceMappingURL=.*\n?/g, '\n');
}

function declarationsOf(entry: string): string {
  const url = new URL(entry, DIST);
  const text = read(url);
  const modules = new Set(Array.from(text.matchAll(/from '([^']+)\.js'/g), ([, specifier]) => specifier!));
  const parts = [...modules].sort().map((specifier) => `// ${specifier}\n${read(new URL(`${specifier}.d.ts`, url))}`);
  return [text, ...parts].join('\n');
}

describe('the public API', () => {
  it.each(ENTRIES)('of %s is the recorded one', async (entry) => {
    await expect(declarationsOf(entry)).toMatchFileSnapshot(`api/${entry.replace(/\W+/g, '-')}.snap`);
  });
});
