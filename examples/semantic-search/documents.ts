// The paragraphs of this project's documents, with the page of each, and questions whose answers are known to be on a page.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { packageRoot } from '../language-id/example-files.js';
import { markdownParagraphs } from '../language-id/markdown-paragraphs.js';

export interface Paragraph {
  readonly page: string;
  readonly text: string;
}

export function readParagraphs(): Paragraph[] {
  const folder = join(packageRoot(), 'docs');
  const pages = readdirSync(folder).filter((name) => name.endsWith('.md')).sort(); // prettier-ignore
  return pages.flatMap((page) =>
    markdownParagraphs(readFileSync(join(folder, page), 'utf8')).map((text) => ({ page, text })),
  );
}

/** Each with the pages that answer it, in words that the pages mostly do not use. */
export const QUESTIONS: readonly (readonly [question: string, ...pages: string[]])[] = [
  ['How long does a request wait for others to share a batch?', 'batching.md'],
  ['Can I give some clients priority in the queue?', 'batching.md'],
  ['My function throws for one row, what happens to the other rows?', 'callables.md', 'errors.md'],
  ['How do I write a decorator of my own?', 'callables.md'],
  ['How can one model call another one?', 'callables.md'],
  ['How do I keep a memory between the requests of one user?', 'stateful-models.md'],
  ['When does the server forget a sequence that is idle?', 'stateful-models.md'],
  ['How do I run a network exported from PyTorch?', 'onnx.md'],
  ['Which files belong into a folder of models?', 'model-repository.md', 'deployment.md', 'cli.md'],
  ['How do I reload a model when its file changes?', 'cli.md', 'model-repository.md'],
  ['Which Prometheus counters are there?', 'metrics.md'],
  ['How do I see where the time of a request goes with OpenTelemetry?', 'tracing.md'],
  ['Can I put the server behind Express or Next?', 'mounting.md'],
  ['How do I send a photograph with a form?', 'plain-json.md'],
  ['Does the chat client of OpenAI work with it?', 'openai.md'],
  ['How do I test my model without opening a port?', 'testing.md'],
  ['What happens on Kubernetes when a pod is terminated?', 'deployment.md', 'scaling-out.md'],
  ['How does the client try again after a failure?', 'client.md'],
  ['How do I cancel a request from the client?', 'client.md', 'callables.md', 'streaming.md'],
  ['What is different from PyTriton?', 'pytriton-differences.md', 'from-pytriton.md'],
  ['Which extensions of the protocol are supported?', 'protocol-support.md', 'http.md'],
  ['How fast is it compared with other servers?', 'benchmarks.md', 'comparison.md'],
  ['Does it work in a Jupyter notebook?', 'notebooks.md'],
  ['How do I set the port by an environment variable?', 'configuration.md', 'cli.md', 'quick-start.md'],
];
