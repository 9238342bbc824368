// Each claim of docs/protocol-support.md has a test in docs/internals/proofs.md, which is there under the title that is
// given; and nothing is proven there that the page does not say any more.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { describe, expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

function textOf(document: string): string {
  return readFileSync(join(ROOT, document), 'utf8');
}

const onOneLine = (text: string) => text.replaceAll(/\s+/g, ' ');

/** The rows of tables, without those that name the columns. */
function rowsOf(text: string): readonly (readonly string[])[] {
  const lines = text.split('\n').filter((line) => line.startsWith('|'));
  const isRule = (line: string | undefined) => line !== undefined && /^[|\s:-]+$/.test(line);
  return lines
    .filter((line, index) => !isRule(line) && !isRule(lines[index + 1]))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
}

/** The text under each heading of the second level, by the heading's first word. */
function sectionsOf(text: string): ReadonlyMap<string, string> {
  const sections = text.split(/^## /m).slice(1);
  return new Map(sections.map((section) => [/^\w+/.exec(section)![0], section]));
}

const PROVEN = textOf('docs/internals/proofs.md');
const PAGE = textOf('docs/protocol-support.md');
const claimsOf = (text: string) => rowsOf(text).map(([claim = '']) => claim);

describe('the proofs of docs/protocol-support.md', () => {
  it('are of claims that it makes', () => {
    const said = onOneLine(PAGE);
    const claims = claimsOf(PROVEN);
    expect(claims.filter((claim) => !said.includes(claim))).toEqual([]);
    expect(claims.length).toBeGreaterThan(50);
  });

  it.each([...sectionsOf(PAGE)])('leave out no row of its table: %s', (heading, section) => {
    const claims = claimsOf(sectionsOf(PROVEN).get(heading) ?? '');
    // What h2spec says is one claim; why each fails is explained there.
    const rows = rowsOf(section.replace(/^\| h2spec[\s\S]*?\n\n/m, ''));
    const unproven = rows.filter(([first = '']) => !claims.some((claim) => first.includes(claim)));
    expect(unproven.map(([first]) => first)).toEqual([]);
    expect(claims.length).toBeGreaterThan(0);
  });

  it('are tests that are there', () => {
    const named = Array.from(onOneLine(PROVEN).matchAll(/`((?:src|test)\/[^`›]*[^`› ])(?: › ([^`]*))?`/g));
    const missing = named.filter(([, file = '', title]) => {
      if (!existsSync(join(ROOT, file))) return true;
      return title !== undefined && !textOf(file).replaceAll("\\'", "'").includes(title);
    });
    expect(missing.map(([name]) => name)).toEqual([]);
    expect(named.length).toBeGreaterThan(60);
  });

  it('name rules that are there', () => {
    const rules = rowsOf(textOf('docs/internals/recorded-answers.md')).map(([name]) => name);
    const named = Array.from(onOneLine(PROVEN).matchAll(/rule "([^"]*)"/g), ([, name]) => name);
    expect(named.filter((name) => !rules.includes(name))).toEqual([]);
    expect(named).not.toEqual([]);
  });

  it('include every test that the page names', () => {
    const missing = Array.from(PAGE.matchAll(/\bL0_\w+/g), ([name]) => `test/e2e/${name}.test.ts`).filter(
      (file) => !existsSync(join(ROOT, file)),
    );
    expect(missing).toEqual([]);
  });
});
