// Replays what the recorded servers answered on their metrics ports, and the requests between. Of a metrics text the
// families are compared in their order, with help and type; the series of a family in any order, because Triton has
// none; and their values where they do not vary.
import type { HttpCase } from './cases.js';
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
    verdict.add({
      testCase,
      recorded: comparable(recordedAnswer(testCase), testCase),
      ours: comparable(ours, testCase),
    });
  }
  return verdict.replay();
}

/** The metrics port answers what no model is asked, but for the case that says otherwise. */
export function isOnMetricsPort({ name, model }: HttpCase): boolean {
  return model === null && !name.endsWith('on the inference port');
}

function comparable(answer: HttpAnswer, { varies = [] }: HttpCase): HttpAnswer {
  const text = answer.body.toString();
  if (!text.startsWith('# HELP ')) return answer;
  const patterns = varies
    .filter((pattern) => pattern !== 'order of lines')
    .map((pattern) => new RegExp(`^.*${pattern}$`));
  const families = familiesOf(text).map(({ head, series }) => {
    const lines = series.map((line) =>
      patterns.some((pattern) => pattern.test(line)) ? line.replace(/\S+$/, '…') : line,
    );
    return [...head, ...lines.sort()].join('\n');
  });
  return { ...answer, body: Buffer.from(`${families.join('\n')}\n`) };
}

export interface FamilyText {
  readonly name: string;
  /** Help and type. */
  readonly head: readonly string[];
  readonly series: readonly string[];
}

export function familiesOf(text: string): readonly FamilyText[] {
  return text
    .split(/^(?=# HELP )/m)
    .filter((family) => family !== '')
    .map((family) => {
      const lines = family.trimEnd().split('\n');
      return { name: lines[0]!.split(' ')[2]!, head: lines.slice(0, 2), series: lines.slice(2) };
    });
}

export function textOf(families: readonly FamilyText[]): string {
  return families.map(({ head, series }) => `${[...head, ...series].join('\n')}\n`).join('');
}
