// Plays the recorded scenarios in simulated time and compares what came of them: the same rows in the same batches at
// the same moments, the same answers and refusals, the same counters. The recordings have real time in them, so that
// moments agree within a tolerance; where they varied, one of the recorded outcomes must be ours.
import type { RecordedOutcome, SchedulerCase } from './cases.js';
import { Verdict, type Replay, type Rule } from './rules.js';
import {
  simulate,
  type SimulatedAnswer,
  type SimulatedExecution,
  type SchedulerOutcome,
} from './scheduler-simulator.js';

export type SchedulerRule = Rule<SchedulerCase, SchedulerOutcome>;

/** Each recorded execution ends up to 10 ms late, and the next one begins then. */
const TOLERANCE_MS = 35;

export async function replayScheduler(
  cases: readonly SchedulerCase[],
  rules: readonly SchedulerRule[],
): Promise<Replay> {
  const verdict = new Verdict<SchedulerCase, SchedulerOutcome>(rules, differencesOf);
  for (const testCase of cases) {
    const ours = await simulate(testCase);
    verdict.add({ testCase, recorded: recordedOutcome(testCase, ours), ours });
  }
  return verdict.replay();
}

/**
 * What was recorded; where it varied, the outcome that is ours, or else the most frequent. Those in which requests were
 * left waiting beside an idle instance, Triton's lost wake-up, are not considered.
 */
function recordedOutcome(testCase: SchedulerCase, ours: SchedulerOutcome): SchedulerOutcome {
  if (testCase.seen !== undefined) return outcomeOf(testCase.seen);
  const sound = testCase.seen_varies!.filter(({ idle_while_waiting_ms: idle }) => idle === undefined);
  if (sound.length === 0) throw new Error(`${testCase.name} has no outcome to compare with`);
  const outcomes = sound.sort((a, b) => (b.times_seen ?? 0) - (a.times_seen ?? 0)).map((seen) => outcomeOf(seen));
  return outcomes.find((outcome) => differencesOf(ours, outcome).length === 0) ?? outcomes[0]!;
}

/** A recorded outcome in the form of ours. */
export function outcomeOf(seen: RecordedOutcome): SchedulerOutcome {
  return {
    loads: seen.load === undefined || seen.load === 'ok',
    executions: (seen.executions ?? []).map(({ start_ms: start, end_ms: end, batch, cancelled_at_end: gone = [] }) => ({
      start,
      end,
      batch: batch.map(([id, rows]) => `${id}×${rows}${gone.includes(id) ? '!' : ''}`).join(' '),
    })),
    answers: Object.fromEntries(
      Object.entries(seen.answers ?? {}).map(([id, { answer, text, shape, at_ms: at }]): [string, SimulatedAnswer] => [
        id,
        { outcome: OUTCOMES[answer] ?? String(answer), text, shape, at },
      ]),
    ),
    stream: (seen.stream ?? [])
      .filter(({ stream_ended: ended }) => ended === undefined)
      .map(({ id, error, at_ms: at }) => ({ id: id!, error, at })),
    probes: [
      ...(seen.probes ?? []).map(({ nv_inference_pending_request_count: count }) => `pending ${count}`),
      ...(seen.notes ?? []).flatMap(noteTexts),
    ],
    statistics: seen.statistics ?? {},
  };
}

const OUTCOMES: Readonly<Record<string, string>> = {
  503: 'UNAVAILABLE',
  INVALID_ARGUMENT: 'INVALID_ARG',
  'cancelled by the client': 'cancelled',
};

function noteTexts({ index, live, ready, model_ready: model }: Readonly<Record<string, unknown>>): string[] {
  const texts: string[] = [];
  if (index !== undefined) texts.push(`index ${(index as [string, string][]).map(([state]) => state).join()}`);
  if (live !== undefined) texts.push(`live ${live === 200}, ready ${ready === 200}, model ${model === 200}`);
  return texts;
}

function differencesOf(ours: SchedulerOutcome, expected: SchedulerOutcome): string[] {
  if (ours.loads !== expected.loads) return [ours.loads ? 'is served, expected a refusal' : 'is refused'];
  return [
    ...listDifference('executions', ours.executions, expected.executions, sameExecution, describeExecution),
    ...answerDifferences(ours.answers, expected.answers),
    ...listDifference('stream', ours.stream, expected.stream, sameMessage, describeMessage),
    ...(ours.probes.join() === expected.probes.join()
      ? []
      : [`probes: expected ${expected.probes.join('; ')}, got ${ours.probes.join('; ')}`]),
    ...statisticDifferences(ours.statistics, expected.statistics),
  ];
}

function listDifference<T>(
  what: string,
  ours: readonly T[],
  expected: readonly T[],
  same: (a: T, b: T) => boolean,
  describe: (value: T) => string,
): string[] {
  if (ours.length === expected.length && ours.every((value, index) => same(value, expected[index]!))) return [];
  return [`${what}: expected ${expected.map(describe).join(' | ')}\n      got ${ours.map(describe).join(' | ')}`];
}

function near(a: number, b: number): boolean {
  return Math.abs(a - b) <= TOLERANCE_MS;
}

function sameExecution(a: SimulatedExecution, b: SimulatedExecution): boolean {
  return a.batch === b.batch && near(a.start, b.start) && near(a.end, b.end);
}

function describeExecution({ batch, start, end }: SimulatedExecution): string {
  return `${batch} ${start}-${end}`;
}

type Message = SchedulerOutcome['stream'][number];

function sameMessage(a: Message, b: Message): boolean {
  return a.id === b.id && a.error === b.error && near(a.at, b.at);
}

function describeMessage({ id, error, at }: Message): string {
  return `${id}${error === undefined ? '' : ` (${error})`} ${at}`;
}

function answerDifferences(ours: SchedulerOutcome['answers'], expected: SchedulerOutcome['answers']): string[] {
  const ids = new Set([...Object.keys(expected), ...Object.keys(ours)]);
  return [...ids].flatMap((id) => {
    const [got, wanted] = [ours[id], expected[id]];
    return got !== undefined && wanted !== undefined && sameAnswer(got, wanted)
      ? []
      : [`answer to ${id}: expected ${describeAnswer(wanted)}, got ${describeAnswer(got)}`];
  });
}

function sameAnswer(got: SimulatedAnswer, wanted: SimulatedAnswer): boolean {
  return (
    got.outcome === wanted.outcome &&
    withoutModel(got.text) === withoutModel(wanted.text) &&
    // Recorded only where the length of rows varies.
    (wanted.shape === undefined || got.shape?.join() === wanted.shape.join()) &&
    near(got.at, wanted.at)
  );
}

// The recorded models have names of their own.
function withoutModel(text: string | undefined): string | undefined {
  return text?.replace(/(unknown model: |for |model )'[^']+'/, '$1…');
}

function describeAnswer(answer: SimulatedAnswer | undefined): string {
  if (answer === undefined) return 'none';
  const { outcome, text, shape, at } = answer;
  return [outcome, text, shape && `[${shape.join()}]`, `at ${at}`].filter((part) => part !== undefined).join(' ');
}

function statisticDifferences(
  ours: SchedulerOutcome['statistics'],
  expected: SchedulerOutcome['statistics'],
): string[] {
  // A server that has ended tells none.
  if (Object.keys(expected).length === 0) return [];
  const names = new Set([...Object.keys(expected), ...Object.keys(ours)]);
  const wrong = [...names].filter((name) => (ours[name] ?? 0) !== (expected[name] ?? 0));
  return wrong.map((name) => `${name}: expected ${expected[name] ?? 0}, got ${ours[name] ?? 0}`);
}
