// Replays what the recorded servers answered on their metrics ports, and the requests between. Of a metrics text the
// families are compared in their order, with help and type; the series of a family in any order, because Triton has
// none; and of their values what metrics-values.ts says.
import type { HttpCase } from './cases.js';
import { comparableMetrics } from './metrics-values.js';
import {
  differencesOf,
  exchange,
  recordedAnswer,
  requestBytes,
  type HttpAnswer,
  type HttpRule,
} from './replay-http.js';
import { Verdict, type Replay } from './rules.js';

/** `portOf` names the port that stands for the recorded one. */
export async function replayMetrics(
  cases: readonly HttpCase[],
  portOf: (testCase: HttpCase) => number,
  rules: readonly HttpRule[],
): Promise<Replay> {
  const verdict = new Verdict<HttpCase, HttpAnswer>(rules, differencesOf);
  for (const testCase of cases) {
    const ours = await exchange(requestBytes(testCase), testCase.request.method, portOf(testCase));
    verdict.add({ testCase, recorded: comparable(recordedAnswer(testCase)), ours: comparable(ours) });
  }
  return verdict.replay();
}

/** The metrics port answers what no model is asked, but for the case that says otherwise. */
export function isOnMetricsPort({ name, model }: HttpCase): boolean {
  return model === null && !name.endsWith('on the inference port');
}

/** The answer with what can be compared of metrics. */
export function comparable(answer: HttpAnswer): HttpAnswer {
  const text = answer.body.toString();
  return text.startsWith('# HELP ') ? { ...answer, body: Buffer.from(comparableMetrics(text)) } : answer;
}
