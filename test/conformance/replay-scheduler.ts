// Plays the recorded scenarios in simulated time and compares what came of them: the same rows in the same batches at
// the same moments, the same answers and refusals, the same counters and durations. Where the recordings varied, one of
// the recorded outcomes must be ours.
import type { SchedulerCase } from './cases.js';
import { recordedOutcomeOf } from './recorded-outcomes.js';
import { describeRefusal, isSameRefusal } from './refusal.js';
import { Verdict, type Replay, type Rule } from './rules.js';
import {
  simulate,
  type SimulatedAnswer,
  type SimulatedExecution,
  type SchedulerOutcome,
} from './scheduler-simulator.js';

export type SchedulerRule = Rule<SchedulerCase, SchedulerOutcome>;

export async function replayScheduler(
  cases: readonly SchedulerCase[],
  rules: readonly SchedulerRule[],
): Promise<Replay> {
  const verdict = new Verdict<SchedulerCase, SchedulerOutcome>(rules, differencesOf);
  for (const exchange of await recordedOutcomes(cases)) verdict.add(exchange);
  return verdict.replay();
}

/** Where the recordings varied, ours says which of them is to be compared. */
export async function recordedOutcomes(cases: readonly SchedulerCase[]): Promise<readonly Played[]> {
  const played: Played[] = [];
  for (const testCase of cases) {
    const ours = await simulate(testCase);
    played.push({ testCase, recorded: recordedOutcome(testCase, ours), ours });
  }
  return played;
}

interface Played {
  readonly testCase: SchedulerCase;
  readonly recorded: SchedulerOutcome;
  readonly ours: SchedulerOutcome;
}

/**
 * What was recorded; where it varied, the outcome that is ours, or else the most frequent. Those in which requests were
 * left waiting beside an idle instance, Triton's lost wake-up, are not considered.
 */
function recordedOutcome(testCase: SchedulerCase, ours: SchedulerOutcome): SchedulerOutcome {
  if (testCase.seen !== undefined) return recordedOutcomeOf(testCase, testCase.seen);
  const sound = testCase.seen_varies!.filter(({ idle_while_waiting_ms: idle }) => idle === undefined);
  if (sound.length === 0) throw new Error(`${testCase.name} has no outcome to compare with`);
  const outcomes = sound
    .sort((a, b) => (b.times_seen ?? 0) - (a.times_seen ?? 0))
    .map((seen) => recordedOutcomeOf(testCase, seen));
  return outcomes.find((outcome) => differencesOf(ours, outcome).length === 0) ?? outcomes[0]!;
}

export function differencesOf(ours: SchedulerOutcome, expected: SchedulerOutcome): string[] {
  if (!isSameRefusal(ours.refused, expected.refused)) {
    return [`expected ${describeRefusal(expected.refused)}, got ${describeRefusal(ours.refused)}`];
  }
  return [
    ...listDifference('executions', ours.executions, expected.executions, sameExecution, describeExecution),
    ...answerDifferences(ours.answers, expected.answers),
    ...listDifference('stream', ours.stream, expected.stream, sameMessage, describeMessage),
    ...(ours.probes.join() === expected.probes.join()
      ? []
      : [`probes: expected ${expected.probes.join('; ')}, got ${ours.probes.join('; ')}`]),
    ...numberDifferences(ours.statistics, expected.statistics),
    ...numberDifferences(ours.durations, expected.durations),
    ...numberDifferences(ours.metrics, expected.metrics),
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

function sameExecution(a: SimulatedExecution, b: SimulatedExecution): boolean {
  const sameInstance = b.instance === undefined || a.instance === b.instance;
  return a.batch === b.batch && a.start === b.start && a.end === b.end && sameInstance;
}

function describeExecution({ batch, start, end, instance }: SimulatedExecution): string {
  return `${batch} ${start}-${end}${instance === undefined ? '' : ` on ${instance}`}`;
}

type Message = SchedulerOutcome['stream'][number];

function sameMessage(a: Message, b: Message): boolean {
  return a.id === b.id && a.error === b.error && a.at === b.at;
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
    got.text === wanted.text &&
    // Recorded only where the length of rows varies.
    (wanted.shape === undefined || got.shape?.join() === wanted.shape.join()) &&
    got.at === wanted.at
  );
}

function describeAnswer(answer: SimulatedAnswer | undefined): string {
  if (answer === undefined) return 'none';
  const { outcome, text, shape, at } = answer;
  return [outcome, text, shape && `[${shape.join()}]`, `at ${at}`].filter((part) => part !== undefined).join(' ');
}

/** A server that has ended tells no numbers; shapes are recorded where they vary, and instances where there are several. */
export function isUntold(wrong: SchedulerOutcome, expected: SchedulerOutcome): boolean {
  const shown = ({ executions, answers, ...rest }: SchedulerOutcome) => {
    const told = Object.keys(expected.statistics).length > 0;
    return JSON.stringify({
      ...(told ? rest : { ...rest, statistics: 0, durations: 0, metrics: 0 }),
      executions: executions.map((execution, index) =>
        expected.executions[index]?.instance === undefined ? { ...execution, instance: 0 } : execution,
      ),
      answers: Object.entries(answers).map(([id, answer]) =>
        expected.answers[id]?.shape === undefined ? { ...answer, shape: 0 } : answer,
      ),
    });
  };
  return shown(wrong) === shown(expected);
}

type Numbers = Readonly<Record<string, number>>;

function numberDifferences(ours: Numbers = {}, expected: Numbers = {}): string[] {
  // A server that has ended tells none.
  if (Object.keys(expected).length === 0) return [];
  const names = new Set([...Object.keys(expected), ...Object.keys(ours)]);
  const wrong = [...names].filter((name) => (ours[name] ?? 0) !== (expected[name] ?? 0));
  return wrong.map((name) => `${name}: expected ${expected[name] ?? 0}, got ${ours[name] ?? 0}`);
}
