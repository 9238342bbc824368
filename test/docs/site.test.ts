// The pages of the site: which there are, and where their links lead. `.ci/run` builds the site and walks it in a browser.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { describe, expect, it } from 'vitest';

import { pagesOf, withSiteLinks } from '../../site/pages.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const PAGES = pagesOf(ROOT);

describe('the pages of the site', () => {
  it('are the documents for users, the examples and the changelog', () => {
    expect(PAGES.get('docs/README.md')).toBe('index.md');
    expect(PAGES.get('docs/batching.md')).toBe('batching.md');
    expect(PAGES.get('examples/ocr/README.md')).toBe('examples/ocr.md');
    expect(PAGES.get('CHANGELOG.md')).toBe('changelog.md');
    expect([...PAGES.keys()].filter((document) => document.includes('internals'))).toEqual([]);
  });

  it('have readable documents behind them, each with a heading', () => {
    const without = [...PAGES.keys()].filter((document) => !/^# /m.test(readFileSync(`${ROOT}/${document}`, 'utf8')));
    expect(without).toEqual([]);
  });
});

describe('links on the site', () => {
  const rewritten = (link: string, document: string) => withSiteLinks(link, document, PAGES);

  it('lead to pages, with their headings', () => {
    expect(rewritten('[a](http.md#errors)', 'docs/client.md')).toBe('[a](./http.md#errors)');
    expect(rewritten('[a](../examples/ocr/README.md)', 'docs/onnx.md')).toBe('[a](./examples/ocr.md)');
    expect(rewritten('[a](../../docs/onnx.md)', 'examples/ocr/README.md')).toBe('[a](../onnx.md)');
    expect(rewritten('[a](ocr)', 'examples/README.md')).toBe('[a](./ocr.md)');
    expect(rewritten('[a](../README.md)', 'docs/onnx.md')).toBe('[a](./index.md)');
  });

  it('are text where they would lead to sources', () => {
    expect(rewritten('[the rules](../test/conformance/scheduler-rules.ts)', 'docs/batching.md')).toBe('the rules');
  });

  it('to other hosts, within a page, of pictures and in code are left alone', () => {
    const text = '[b](#b) [s](https://example.org) ![p](page.png)\n\n```ts\nmodels[0](docs/none.md);\n```\n';
    expect(rewritten(text, 'docs/page.md')).toBe(text);
  });
});
