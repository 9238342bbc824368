// What a start loads: read from the build in dist.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const DIST = new URL('../dist/', import.meta.url);
const FOLDER = new URL('server/', DIST);
const read = (file: string): string => readFileSync(new URL(file, FOLDER), 'utf8');

function importsOf(text: string): string[] {
  return [...text.matchAll(/^(?:import|export)\b[^;]*?["']([^"']+)["'];$/gm)].map(([, from]) => from!);
}

function sourcesOf(file: string): readonly string[] {
  return (JSON.parse(read(`${file}.map`)) as { readonly sources: readonly string[] }).sources;
}

/** The files that an import of the package loads. */
function loadedWithEntry(): ReadonlySet<string> {
  const loaded = new Set([new URL('index.js', DIST).href]);
  for (const module of loaded) {
    for (const from of importsOf(readFileSync(new URL(module), 'utf8'))) {
      if (from.startsWith('.')) loaded.add(new URL(from, module).href);
    }
  }
  return loaded;
}

describe('index.js of the build', () => {
  it('loads no server, no client and no tables of messages', () => {
    const late = /\/(client\/.*client|frontend\/.*\/.*(service|handler)|protobuf\/generated\/.*|server\/server)\.js$/;
    expect([...loadedWithEntry()].filter((module) => late.test(module))).toEqual([]);
  });
});

describe('server-thread.js of the build', () => {
  it("is one file: it imports nothing but Node's own modules", () => {
    const imported = importsOf(read('server-thread.js'));
    expect(imported).toContain('node:worker_threads');
    expect(imported.filter((from) => !from.startsWith('node:'))).toEqual([]);
  });
});

describe('server-handle.js of the build, which a server in the same thread loads', () => {
  it('imports what the package has loaded, and has none of it itself', () => {
    const loaded = loadedWithEntry();
    const ours = importsOf(read('server-handle.js')).filter((from) => !from.startsWith('node:'));
    expect(ours).toContain('../errors.js');
    expect(ours.filter((from) => !loaded.has(new URL(from, FOLDER).href))).toEqual([]);
    const own = sourcesOf('server-handle.js').map((source) => source.replace('../../src/', '').replace('.ts', '.js'));
    expect(own.filter((module) => loaded.has(new URL(module, DIST).href))).toEqual([]);
  });
});

describe.each(['server-thread', 'server-handle'])('%s.js of the build', (name) => {
  it('leaves the tables of messages to a file that is imported late', () => {
    expect(read(`${name}.js`)).toContain(`import("./${name}-late.js")`);
    expect(read(`${name}-late.js`)).toContain('inference.ModelStatistics');
  });

  it('has a source map that leads to the TypeScript', () => {
    const sources = sourcesOf(`${name}.js`);
    expect(sources).toContain(`../../src/server/${name}.ts`);
    expect(sources.filter((source) => !source.startsWith('../../src/'))).toEqual([]);
  });
});
