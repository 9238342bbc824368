// Asks a running server for the language of real text, all at once: every paragraph of the project's documents and of the
// example's own. Started by itself it prints each answer, how many are right, and how few executions the server needed.
//
//   node build/examples/language-id/client.js grpc://localhost:8001 http://localhost:8002/metrics
import { ModelClient } from 'tstriton/client';

import { whenStarted } from '../when-started.js';
import { readParagraphs, type LabelledText } from './corpus.js';
import { readDocuments } from './markdown-paragraphs.js';
import { languageId } from './server.js';

export interface AskOptions {
  /** Where the server tells its metrics, `http://localhost:8002/metrics` say; without it batching is not reported. */
  readonly metricsUrl?: string;
}

export interface Count {
  readonly right: number;
  readonly total: number;
}

export interface AskSummary {
  /** The example's paragraphs, in all its languages. */
  readonly paragraphs: Count;
  /** The paragraphs of the project's documents, all English. */
  readonly documents: Count;
  /** What the server did for this run by its own count; absent without a metrics address. */
  readonly batching?: { readonly inferences: number; readonly executions: number };
  /** In the order in which the paragraphs lie there, those of the documents first. */
  readonly answers: readonly Answer[];
}

export interface Answer {
  readonly text: string;
  readonly expected: string;
  readonly label: string;
  readonly score: number;
}

const SHOWN_CHARACTERS = 60;

/** Sends every paragraph concurrently over one client and sums up the answers. */
export async function askLanguageId(url: string, options: AskOptions = {}): Promise<AskSummary> {
  const { metricsUrl } = options;
  const documents = readDocuments().map((text): LabelledText => ({ language: 'en', text }));
  const paragraphs = readParagraphs();

  const before = metricsUrl === undefined ? undefined : await readCounters(metricsUrl);
  const answers = await askAll(url, [...documents, ...paragraphs]);
  const after = metricsUrl === undefined ? undefined : await readCounters(metricsUrl);

  return {
    answers,
    paragraphs: countRight(answers.slice(documents.length)),
    documents: countRight(answers.slice(0, documents.length)),
    ...(before !== undefined &&
      after !== undefined && {
        batching: {
          inferences: after.inferences - before.inferences,
          executions: after.executions - before.executions,
        },
      }),
  };
}

async function askAll(url: string, texts: readonly LabelledText[]): Promise<Answer[]> {
  const client = new ModelClient(url, languageId);
  try {
    return await Promise.all(
      texts.map(async ({ text, language }): Promise<Answer> => {
        const { label, scores } = await client.inferSample({ text: [text] });
        return { text, expected: language, label: label.data[0]!, score: Math.max(...scores.data) };
      }),
    );
  } finally {
    await client.close();
  }
}

async function readCounters(metricsUrl: string): Promise<{ inferences: number; executions: number }> {
  const response = await fetch(metricsUrl);
  if (!response.ok) throw new Error(`GET ${metricsUrl} answered ${response.status}, expected 200`);
  const text = await response.text();
  return {
    inferences: counterValue(text, 'nv_inference_count'),
    executions: counterValue(text, 'nv_inference_exec_count'),
  };
}

/** A counter of this model in the metrics' text, all versions together. */
export function counterValue(metrics: string, name: string): number {
  return metrics
    .split('\n')
    .filter((line) => line.startsWith(`${name}{`) && line.includes(`model="${languageId.modelName}"`))
    .reduce(
      (sum, line) =>
        sum +
        Number(
          line
            .slice(line.lastIndexOf('}') + 1)
            .trim()
            .split(' ')[0],
        ),
      0,
    );
}

function countRight(answers: readonly Answer[]): Count {
  return { right: answers.filter(({ label, expected }) => label === expected).length, total: answers.length };
}

/** As many words of a text as fit a line. */
export function firstWords(text: string): string {
  const line = text.replace(/\s+/g, ' ');
  return line.length <= SHOWN_CHARACTERS ? line : `${line.slice(0, line.lastIndexOf(' ', SHOWN_CHARACTERS))} …`;
}

function describeSummary({ paragraphs, documents, batching }: AskSummary): string[] {
  const lines = [
    `paragraphs of the example: ${paragraphs.right}/${paragraphs.total} right`,
    `paragraphs of the documents: ${documents.right}/${documents.total} right`,
  ];
  if (batching !== undefined) {
    const { inferences, executions } = batching;
    const mean = executions === 0 ? 0 : inferences / executions;
    lines.push(`${inferences} requests in ${executions} executions: ${mean.toFixed(1)} a batch`);
  }
  return lines;
}

await whenStarted(import.meta.url, async () => {
  const [url = 'grpc://localhost:8001', metricsUrl = 'http://localhost:8002/metrics'] = process.argv.slice(2);
  const summary = await askLanguageId(url, { metricsUrl });
  for (const { label, score, text } of summary.answers) {
    console.log(`${label} ${score.toFixed(2)}  ${firstWords(text)}`);
  }
  for (const line of describeSummary(summary)) console.log(line);
});
