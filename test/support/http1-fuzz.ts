// What random requests and random answers of HTTP/1.1 have in common: how many, from which seed, spoiled how, in which pieces.
// HTTP1_FUZZ_RUNS makes a run long, and HTTP1_FUZZ_SEED, which a failure names, makes the same one the first. The draws and their
// order belong to the seeds that failures have named: whoever changes them changes what an old seed replays.
import { Duplex } from 'node:stream';

import type { Random } from './random-life/random.js';
import { SEED } from './seed.js';

export const RUNS = Number(process.env['HTTP1_FUZZ_RUNS'] ?? 1000);
const FIRST = Number(process.env['HTTP1_FUZZ_SEED'] ?? SEED);
export const TIMEOUT = { timeout: Math.max(60_000, RUNS * 100) };

/** The seeds of a run. */
export const SEEDS: readonly number[] = Array.from({ length: RUNS }, (_, run) => FIRST + run);

const BYTES = ['\0', '\t', '\n', '\r', '\r\n', ' ', ',', ':', ';', '0', '5', 'a', 'A', '\x7f', '\x80', '\xff'];

/** The text as it is, by this chance, or with up to three bytes changed, lost or too many. */
export function spoiled(random: Random, text: string, chanceOfNone: number): string {
  for (let i = random.chance(chanceOfNone) ? 0 : random.integer(1, 3); i > 0; i--) {
    const at = random.integer(0, text.length);
    text = text.slice(0, at) + random.of(['', ...BYTES]) + text.slice(at + random.integer(0, 1));
  }
  return text;
}

/** The text in pieces of these sizes. */
export function pieces(random: Random, text: string, sizes: readonly number[]): string[] {
  const parts: string[] = [];
  for (let at = 0; at < text.length;) {
    const end = at + random.of(sizes);
    parts.push(text.slice(at, end));
    at = end;
  }
  return parts;
}

const REFUSES_TABS = Number(process.versions.node.split('.')[0]) < 22;

/** Whether node:http refuses the text for a tab behind a Content-Length, as that of Node 20 does. RFC 9110 allows it (section 5.5). */
export function hasRefusedTab(text: string): boolean {
  return REFUSES_TABS && /content-length:[^\r\n]*[0-9] *\t/i.test(text);
}

/** Two ends without a network between them. */
export class Wire extends Duplex {
  override _read(): void {
    // What is read is pushed.
  }
  override _write(_chunk: unknown, _encoding: unknown, done: () => void): void {
    done();
  }
}
