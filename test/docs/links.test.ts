// Every relative link of the documents leads to something that is there, and to a heading where it names one.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { describe, expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const FOLDERS = ['docs', 'bench', 'examples', 'test'];

const DOCUMENTS = [
  'README.md',
  'CHANGELOG.md',
  'RELIABILITY.md',
  'SECURITY.md',
  ...FOLDERS.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.md'))
      .map((file) => join(folder, file)),
  ),
];

/** Without the code, in which brackets are no links. */
function textOf(document: string): string {
  return readFileSync(document, 'utf8')
    .replaceAll(/^```[\s\S]*?^```/gm, '')
    .replaceAll(/`[^`\n]*`/g, (code) => code.replaceAll(/[[\]()]/g, ''));
}

/** As they are spelt after the `#` of a link. */
function anchorsOf(document: string): string[] {
  const headings = textOf(document).matchAll(/^#+ (?<heading>.*)$/gm);
  return Array.from(headings, ({ groups }) =>
    groups!
      ['heading']!.toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .trim()
      .replaceAll(' ', '-'),
  );
}

describe('the links of the documents', () => {
  it.each(DOCUMENTS)('%s', (document) => {
    const broken: string[] = [];
    for (const [, link = ''] of textOf(join(ROOT, document)).matchAll(/\]\((?<link>[^)\s]+)\)/g)) {
      if (/^[a-z]+:/.test(link)) continue;
      const [path = '', anchor] = link.split('#');
      const target = path === '' ? join(ROOT, document) : join(ROOT, dirname(document), path);
      if (!existsSync(target)) broken.push(link);
      else if (anchor !== undefined && !anchorsOf(target).includes(anchor)) broken.push(link);
    }
    expect(broken).toEqual([]);
  });

  it('are there: the search finds documents and headings', () => {
    expect(DOCUMENTS).toContain(join('docs', 'batching.md'));
    expect(anchorsOf(join(ROOT, 'docs', 'batching.md'))).toContain('batches-of-mixed-shapes');
  });
});
