// Draws pages of which the text is known, has a running server read them over HTTP and gRPC, all at the same time, and counts the
// characters that are right. Writes the first page with the boxes of its lines to ocr-boxes.png.
//
//   node build/examples/ocr/client.js http://localhost:8000 grpc://localhost:8001
import { writeFileSync } from 'node:fs';

import { ModelClient } from 'tstriton/client';

import { whenStarted } from '../when-started.js';
import { ocr } from './model.js';
import type { DrawnPage } from './page.js';

/** Lines with letters, digits and signs; each page begins somewhere else. */
const LINES = [
  'The quick brown fox jumps over the lazy dog.',
  'Invoice no. 2041-77 of 14 March 2026',
  'Total: 1,284.50 EUR incl. 19 % VAT',
  'Pack my box with five dozen liquor jugs!',
  'Gate B42, boarding at 06:55',
  'How vexingly quick daft zebras jump',
  'Serial: TX9-4417-KQ/80',
  'Open Monday to Friday, 9 am to 5 pm',
  'Sphinx of black quartz, judge my vow',
  'Room 318 (third floor, left)',
  'The five boxing wizards jump quickly',
];
const LINES_OF_PAGE = 6;
const ANGLES = [0, 2, -3, 180];

export interface OcrSummary {
  readonly pages: number;
  readonly lines: number;
  /**
   * Share of the characters that are right, spaces left out: one less the edits that the text needs by its characters. The network
   * knows Chinese and English, and often leaves the space between two words out.
   */
  readonly accuracy: number;
  readonly seconds: number;
  /** What the server read on the first page. */
  readonly firstPage: readonly string[];
  /** The first page with its boxes, as PNG. */
  readonly picture: Uint8Array;
}

export async function drawPages(count: number): Promise<DrawnPage[]> {
  const { drawPage } = await import('./page.js');
  return Promise.all(
    Array.from({ length: count }, (_, page) => {
      const lines = Array.from({ length: LINES_OF_PAGE }, (__, line) => LINES[(page * 5 + line) % LINES.length]!);
      return drawPage(lines, ANGLES[page % ANGLES.length]!);
    }),
  );
}

/** Asks for all pages at once; the pages go to the URLs in turn. `together`: whether lines share batches of the third network. */
export async function askOcr(
  urls: readonly string[],
  pages: readonly DrawnPage[],
  together = true,
): Promise<OcrSummary> {
  const clients = urls.map((url) => new ModelClient(url, ocr));
  try {
    const start = performance.now();
    const answers = await Promise.all(
      pages.map(({ image }, page) =>
        clients[page % clients.length]!.inferSample({ image: [image] }, { parameters: { together } }),
      ),
    );
    const seconds = (performance.now() - start) / 1000;
    let [edits, characters] = [0, 0];
    answers.forEach(({ text }, page) => {
      const expected = withoutSpaces(pages[page]!.lines);
      edits += editDistance(withoutSpaces(text.data), expected);
      characters += expected.length;
    });
    const [first] = answers;
    return {
      pages: pages.length,
      lines: answers.reduce((sum, { text }) => sum + text.data.length, 0),
      accuracy: 1 - edits / characters,
      seconds,
      firstPage: [...first!.text.data],
      picture: await (await import('./page.js')).drawBoxes(pages[0]!.image, first!.boxes.data),
    };
  } finally {
    await Promise.all(clients.map((client) => client.close()));
  }
}

function withoutSpaces(lines: readonly string[]): string {
  return lines.join('\n').replaceAll(' ', '');
}

/** Levenshtein's: insertions, deletions and replacements of characters. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)));
    }
    row = next;
  }
  return row[b.length]!;
}

await whenStarted(import.meta.url, async () => {
  const urls = process.argv.length > 2 ? process.argv.slice(2) : ['http://localhost:8000', 'grpc://localhost:8001'];
  const drawn = await drawPages(24);
  const summary = await askOcr(urls, drawn);
  const alone = await askOcr(urls, drawn, false);
  console.log(summary.firstPage.map((line) => `  ${line}`).join('\n'));
  const { pages, lines, accuracy, seconds } = summary;
  console.log(
    `${pages} pages, ${lines} lines, ${(100 * accuracy).toFixed(1)} % of the characters are right (spaces left out),`,
  );
  console.log(
    `${(lines / seconds).toFixed(1)} lines a second in batches, ${(lines / alone.seconds).toFixed(1)} one by one`,
  );
  console.log('Boxes of the first page: ocr-boxes.png');
  writeFileSync('ocr-boxes.png', summary.picture);
});
