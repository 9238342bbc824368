// What `tstriton check` has found, and how a person reads it.

import { inOneLine, type Style } from '../style.js';

export interface Finding {
  readonly name: string;
  /** `told` is neither good nor bad. */
  readonly status: 'ok' | 'told' | 'warning' | 'failed';
  readonly text: string;
}

export interface Section {
  readonly title: string;
  readonly findings: readonly Finding[];
}

const MARKS = { ok: '✔', told: ' ', warning: '!', failed: '✖' } as const;
const COLOURS = { ok: 'green', told: 'dim', warning: 'yellow', failed: 'red' } as const;

export function showSection({ title, findings }: Section, style: Style): string {
  const width = Math.max(...findings.map(({ name }) => name.length));
  const lines = findings.map(({ name, status, text }) => {
    return `  ${style(COLOURS[status], MARKS[status])} ${inOneLine(name).padEnd(width)}  ${inOneLine(text)}`;
  });
  return `${style('bold', title)}\n${lines.join('\n')}\n`;
}

/** The text that `look` returns, or the message of the error it throws. */
export async function findingOf(name: string, look: () => Promise<string>): Promise<Finding> {
  try {
    return { name, status: 'ok', text: await look() };
  } catch (error) {
    return { name, status: 'failed', text: error instanceof Error ? error.message : String(error) };
  }
}
