// Rules for what this version does not serve yet, each with the issue that brings it, and for what is not to come.
import { withText } from './http-text.js';
import type { HttpAnswer, HttpRule } from './replay-http.js';

interface ModelStatistics {
  readonly name: string;
  readonly [member: string]: unknown;
}

/** Statistics with the list of models changed. */
export function changeStatistics(
  answer: HttpAnswer,
  change: (models: readonly ModelStatistics[]) => readonly ModelStatistics[],
): HttpAnswer | undefined {
  const text = answer.body.toString();
  if (!text.startsWith('{"model_stats":')) return undefined;
  const { model_stats: models } = JSON.parse(text) as { readonly model_stats: readonly ModelStatistics[] };
  return withText(answer, () => JSON.stringify({ model_stats: change(models) }));
}

/** Statistics of models that nobody asked anything. */
function untouched(models: readonly ModelStatistics[]): readonly ModelStatistics[] {
  const none = { count: 0, ns: 0 };
  return models.map((model) => ({
    ...model,
    last_inference: 0,
    inference_count: 0,
    execution_count: 0,
    inference_stats: Object.fromEntries(
      Object.keys(model['inference_stats'] as object).map((member) => [member, none]),
    ),
    batch_stats: [],
  }));
}

export const HTTP_COMING_RULES: readonly HttpRule[] = [
  {
    name: 'other files are replayed elsewhere',
    reason: 'The recorded server with restrictions had answered requests of another file before, and counted them.',
    until: 4,
    expects: (recorded, { server }) => (server === 'full' ? changeStatistics(recorded, untouched) : undefined),
  },
  {
    name: 'labels are in the declaration',
    reason: 'There is no file of them to name.',
    expects: (recorded) =>
      withText(recorded, (text) => text.replaceAll(/"label_filename":"[^"]+"/g, '"label_filename":""')),
  },
];
