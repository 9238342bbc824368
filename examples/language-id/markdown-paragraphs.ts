// The prose of this project's own documents, a paragraph each: real input in a known language, English. Headings, tables and
// code are not prose and are left out.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { packageRoot } from './example-files.js';

const FENCED_CODE = /^(`{3,}|~{3,})[^\n]*\n[\s\S]*?^\1[`~]*[ \t]*$/gm;
const MARKS: readonly (readonly [RegExp, string])[] = [
  [/<!--[\s\S]*?-->/g, ' '],
  [/`[^`]*`/g, ' '],
  [/!?\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])/g, '$1'],
  [/https?:\/\/\S+/g, ' '],
  [/<[^>\n]*>/g, ' '],
  [/[*_>]+/g, ' '],
  [/\s+/g, ' '],
];
const FEWEST_WORDS = 3;

/** The paragraphs of README.md and of every page in docs. */
export function readDocuments(): string[] {
  const root = packageRoot();
  const docs = join(root, 'docs');
  const pages = existsSync(docs)
    ? readdirSync(docs)
        .filter((name) => name.endsWith('.md'))
        .sort()
    : [];
  return [join(root, 'README.md'), ...pages.map((name) => join(docs, name))]
    .filter((path) => existsSync(path))
    .flatMap((path) => markdownParagraphs(readFileSync(path, 'utf8')));
}

/** The paragraphs of a Markdown text as plain text; those with fewer than three words are dropped. */
export function markdownParagraphs(markdown: string): string[] {
  return markdown
    .replace(FENCED_CODE, '')
    .split(/\n\s*\n/)
    .map((paragraph) =>
      paragraph
        .split('\n')
        .filter((line) => !/^\s*[#|]/.test(line))
        .join('\n'),
    )
    .map((paragraph) => MARKS.reduce((text, [mark, replacement]) => text.replace(mark, replacement), paragraph).trim())
    .filter((paragraph) => (paragraph.match(/\p{L}{2,}/gu) ?? []).length >= FEWEST_WORDS);
}
