// The small examples: each is served, asked by its client, and prints what its README shows.
import { readFileSync } from 'node:fs';
import type { Triton, TritonConfig } from 'tstriton';
import { describe, expect, it, vi } from 'vitest';

import { askAddSub } from '../../examples/add-sub/client.js';
import { bindAddSub } from '../../examples/add-sub/server.js';
import { askIdentity } from '../../examples/identity/client.js';
import { bindIdentity } from '../../examples/identity/server.js';
import { askDigits } from '../../examples/image-classification/client.js';
import { bindDigits, trainedNetwork } from '../../examples/image-classification/server.js';
import { askLinear } from '../../examples/linear/client.js';
import { bindLinear } from '../../examples/linear/server.js';
import { askMlp } from '../../examples/mlp/client.js';
import { bindMlp } from '../../examples/mlp/server.js';
import { askModels } from '../../examples/multiple-models/client.js';
import { bindModels } from '../../examples/multiple-models/server.js';
import { teach } from '../../examples/online-learning/client.js';
import { bindRegression } from '../../examples/online-learning/server.js';
import { askSearch } from '../../examples/semantic-search/client.js';
import { QUESTIONS, readParagraphs } from '../../examples/semantic-search/documents.js';
import { bindSearch, Library } from '../../examples/semantic-search/server.js';
import { askScaledSum } from '../../examples/optional-inputs/client.js';
import { bindScaledSum } from '../../examples/optional-inputs/server.js';
import { askRatio } from '../../examples/parameters-and-headers/client.js';
import { bindRatio, config } from '../../examples/parameters-and-headers/server.js';
import { startServer } from '../support/start-server.js';

interface Example {
  readonly name: string;
  readonly bind: (triton: Triton) => void;
  readonly ask: (url: string) => Promise<void>;
  readonly config?: TritonConfig;
}

const network = trainedNetwork();
const library = new Library(readParagraphs());
const EXAMPLES: readonly Example[] = [
  { name: 'add-sub', bind: bindAddSub, ask: askAddSub },
  { name: 'identity', bind: bindIdentity, ask: askIdentity },
  { name: 'image-classification', bind: (triton) => bindDigits(triton, network), ask: askDigits },
  { name: 'linear', bind: bindLinear, ask: askLinear },
  { name: 'mlp', bind: bindMlp, ask: askMlp },
  { name: 'multiple-models', bind: bindModels, ask: askModels },
  { name: 'online-learning', bind: bindRegression, ask: teach },
  { name: 'optional-inputs', bind: bindScaledSum, ask: askScaledSum },
  { name: 'parameters-and-headers', bind: bindRatio, ask: askRatio, config },
  { name: 'semantic-search', bind: (triton) => bindSearch(triton, library), ask: askSearch },
];

/** The first block of output in a README. */
function shownIn(name: string): string {
  const text = readFileSync(new URL(`../../examples/${name}/README.md`, import.meta.url), 'utf8');
  return /```text\n([\s\S]*?)```/.exec(text)![1]!;
}

/**
 * Without the last digit of shares, which depend on the engine's exponentials and on the documents that are searched, and without the
 * address.
 */
function rounded(text: string): string {
  return text
    .replace(/\b\d+(?= of 24)/g, 'N')
    .replace(/\b(\d+)\d(?= of | %)/g, '$1_')
    .replace(/(?:http|grpc):\/\/\S+/, 'URL');
}

async function printedBy(action: () => Promise<void>): Promise<string> {
  const lines: string[] = [];
  const log = vi.spyOn(console, 'log').mockImplementation((line: string) => void lines.push(`${line}\n`));
  try {
    await action();
  } finally {
    log.mockRestore();
  }
  return lines.join('');
}

describe.each(EXAMPLES)('the example $name', ({ name, bind, ask, config }) => {
  it.each(['http', 'grpc'] as const)('prints over %s what its README shows', async (wire) => {
    await using server = await startServer(bind, config);
    expect(rounded(await printedBy(() => ask(server[wire])))).toBe(rounded(shownIn(name)));
  });
});

it('finds the right page for most questions among the first five paragraphs, by meaning and by words', () => {
  for (const by of ['meaning', 'words'] as const) {
    const right = QUESTIONS.filter(([question, ...pages]) =>
      library.find(question, by).some(({ page }) => pages.includes(page)),
    );
    expect(right.length).toBeGreaterThanOrEqual(16);
  }
});
