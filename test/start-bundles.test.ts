// What a start loads: read from the build in dist.
import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { promisify } from 'node:util';

import { describe, expect, it } from 'vitest';

const DIST = new URL('../dist/', import.meta.url);
const read = (file: string): string => readFileSync(new URL(file, DIST), 'utf8');

function importsOf(text: string): string[] {
  return [...text.matchAll(/^(?:import|export)\b[^;]*?["']([^"']+)["'];$/gm)].map(([, from]) => from!);
}

function sourcesOf(file: string): readonly string[] {
  const { sources } = JSON.parse(read(`${file}.map`)) as { readonly sources: readonly string[] };
  return sources.map((source) => new URL(source, new URL(file, DIST)).href.replace(new URL('../src/', DIST).href, ''));
}

/** The files that an import of one loads at once. */
function loadedWith(entry: string): readonly string[] {
  const loaded = new Set([new URL(entry, DIST).href]);
  for (const module of loaded) {
    for (const from of importsOf(readFileSync(new URL(module), 'utf8'))) {
      if (from.startsWith('.')) loaded.add(new URL(from, module).href);
    }
  }
  return [...loaded].map((url) => url.replace(DIST.href, ''));
}

const sourcesWith = (entry: string): readonly string[] => loadedWith(entry).flatMap(sourcesOf);

describe.each([
  ['index.js', /^client\/.*client|^frontend\/.*\/.*(service|handler)|generated\/|^server\/server\.ts/],
  ['client/index.js', /^(core|frontend|server|host|link)\//],
  ['link/instance-thread.js', /^(client|frontend|core\/scheduler)\/|^server\/server\.ts/],
  ['server/server-handle.js', /^(client|cli)\/|generated\/statistics|grpc\/described-methods|page-files/],
  ['cli/main.js', /^(client|frontend|core)\/.*(client|service|scheduler)\.ts|^server\/server\.ts/],
])('%s of the build', (entry, late) => {
  it('loads few files', () => {
    expect(loadedWith(entry).length).toBeLessThanOrEqual(20);
  });

  it('loads nothing that it needs late or never', () => {
    expect(sourcesWith(entry).filter((source) => late.test(source))).toEqual([]);
  });
});

it('each module is in one file of those that entries load, so that all have the same classes', () => {
  const files = [
    'index',
    'client/index',
    'testing/index',
    'onnx/index',
    'cli/main',
    'link/instance-thread',
    'server/server-handle',
  ];
  const loaded = new Set(files.flatMap((entry) => loadedWith(`${entry}.js`)));
  const sources = [...loaded].flatMap(sourcesOf);
  expect(sources.length).toBeGreaterThan(300);
  expect(sources.filter((source, i) => sources.indexOf(source) !== i)).toEqual([]);
});

describe('server-thread.cjs of the build', () => {
  it("is one file: it loads nothing but Node's own modules", () => {
    const loaded = [...read('server/server-thread.cjs').matchAll(/\brequire\("([^"]+)"\)/g)].map(([, from]) => from!);
    expect(loaded).toContain('node:worker_threads');
    expect(
      loaded.filter((from) => !from.startsWith('node:') && !['url', './server-thread-late.cjs'].includes(from)),
    ).toEqual([]);
    expect(read('server/server-thread.cjs')).toMatch(/then\(\(\) => require\("\.\/server-thread-late\.cjs"\)/);
  });

  it('leaves the tables of messages to a file that it loads late', () => {
    expect(read('server/server-thread-late.cjs')).toContain('inference.ModelStatistics');
  });

  it('has a source map that leads to the TypeScript', () => {
    expect(sourcesOf('server/server-thread.cjs')).toContain('server/server-thread.ts');
    expect(sourcesOf('server/server-thread.cjs').filter((source) => source.includes(':'))).toEqual([]);
  });
});

it('a file that entries share runs nothing when it is loaded', async () => {
  const files = readdirSync(new URL('shared/', DIST)).filter((name) => name.endsWith('.js'));
  expect(files.length).toBeGreaterThan(20);
  const importing = files.map((name) => `await import(${JSON.stringify(new URL(`shared/${name}`, DIST))});`).join('\n');
  const run = promisify(execFile);
  const { stdout, stderr } = await run(process.execPath, ['--input-type=module', '-e', importing]);
  expect(stdout + stderr).toBe('');
});

it('paths of other files are true in every file of the build', () => {
  const files = readdirSync(DIST, { recursive: true, encoding: 'utf8' }).filter((name) => /\.c?js$/.test(name));
  const lost = files.flatMap((file) =>
    [...read(file).matchAll(/new URL\(["'](\.[^"']*)["'], import\.meta\.url\)/g)]
      // That is an example in an error.
      .filter(([, path]) => path !== './model.js')
      .map(([, path]) => new URL(path!, new URL(file, DIST)))
      .filter((url) => !existsSync(url))
      .map(({ href }) => `${file}: ${href}`),
  );
  expect(lost).toEqual([]);
});
