// The documents in the published package: every page for users is there, and no link leads to what is not.
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { describe, expect, it } from 'vitest';

import { packedLinks } from '../../scripts/packed-links.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const { files } = JSON.parse(readFileSync(`${ROOT}/package.json`, 'utf8')) as { readonly files: readonly string[] };
const PAGES = readdirSync(`${ROOT}/docs`).filter((file) => file.endsWith('.md'));
const WHERE = {
  page: 'README.md',
  address: 'https://host/tstriton@1.0.0',
  isPacked: (path: string) => ['docs/http.md', 'README.md', 'docs/client.md'].includes(path),
};

describe('links in the package', () => {
  it('lead from the README, which npm shows without files beside it, to where the package can be read', () => {
    expect(packedLinks('See [the `[client]`](docs/client.md#errors) and [HTTP](docs/http.md).', WHERE)).toBe(
      'See [the `[client]`](https://host/tstriton@1.0.0/docs/client.md#errors) and [HTTP](https://host/tstriton@1.0.0/docs/http.md).',
    );
  });

  it('stay as they are between the pages', () => {
    const text = '[HTTP](http.md#generate), [README](../README.md)';
    expect(packedLinks(text, { ...WHERE, page: 'docs/client.md' })).toBe(text);
  });

  it('are text where they would lead to what is not packed', () => {
    expect(packedLinks('[examples/](examples/), [tests](../test)', WHERE)).toBe('examples/, tests');
    expect(packedLinks('[rules](../test/rules.ts)', { ...WHERE, page: 'docs/http.md' })).toBe('rules');
  });

  it('within a page, to other hosts and in code are left alone', () => {
    const text = '[below](#below) [site](https://example.org)\n\n```ts\nmodels[0](docs/none.md);\n```\n\n[x](#x)\n';
    expect(packedLinks(text, WHERE)).toBe(text);
  });
});

describe('the package', () => {
  it('has the pages for users, and not those for maintainers', () => {
    expect(PAGES).toContain('http.md');
    expect(readdirSync(`${ROOT}/docs/internals`)).toContain('architecture.md');
    expect(files.filter((pattern) => pattern.startsWith('docs'))).toEqual(['docs/*.md', 'docs/*.svg', 'docs/*.png']);
  });

  it('has the pictures of its pages beside them', () => {
    const pictures = PAGES.flatMap((page) =>
      Array.from(readFileSync(`${ROOT}/docs/${page}`, 'utf8').matchAll(/!\[[^\]]*\]\(([^)]*)\)/g), ([, path]) => path!),
    );
    expect(pictures).toEqual(expect.arrayContaining(['benchmarks.svg', 'deployment-end.svg']));
    expect(pictures.filter((path) => !/^[\w-]+\.(?:svg|png)$/.test(path))).toEqual([]);
    const drawn = readdirSync(`${ROOT}/docs`).filter((file) => /\.(?:svg|png)$/.test(file));
    expect(
      drawn.filter((file) => !pictures.includes(file)),
      'pictures that no page shows',
    ).toEqual([]);
  });

  it('is written for readers who have no repository: the README leads to a list of the pages, which has all', () => {
    expect(readFileSync(`${ROOT}/README.md`, 'utf8')).toContain('](docs/README.md)');
    const list = readFileSync(`${ROOT}/docs/README.md`, 'utf8');
    const pages = PAGES.filter((page) => page !== 'README.md');
    expect(pages.filter((page) => list.split(`](${page})`).length !== 2)).toEqual([]);
  });
});
