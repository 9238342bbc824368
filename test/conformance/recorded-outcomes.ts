// Recorded outcomes of scheduling scenarios in the form of the simulated ones, with exact moments.
import type { RecordedOutcome, SchedulerCase } from './cases.js';
import { RecordedMoments } from './recorded-moments.js';
import { durationsOf, type Durations } from './scheduler-durations.js';
import type { SchedulerOutcome, SimulatedAnswer } from './scheduler-simulator.js';

export function recordedOutcomeOf(testCase: SchedulerCase, seen: RecordedOutcome): SchedulerOutcome {
  const moments = new RecordedMoments(testCase, seen);
  const exact = outcomeAt(testCase, seen, moments);
  const asRecorded = outcomeAt(testCase, seen, {
    executions: (seen.executions ?? []).map(({ start_ms: start, end_ms: end }) => ({ start, end })),
    answer: (_name, at) => at,
  });
  return { ...exact, durations: exactDurations(seen.durations_ms, { exact, asRecorded }, testCase) };
}

function outcomeAt(
  testCase: SchedulerCase,
  seen: RecordedOutcome,
  moments: Pick<RecordedMoments, 'executions' | 'answer'>,
): Omit<SchedulerOutcome, 'durations'> {
  return {
    refused: refusalOf(seen, testCase),
    executions: (seen.executions ?? []).map(({ batch, cancelled_at_end: gone = [], instance }, index) => ({
      ...moments.executions[index]!,
      instance,
      batch: batch.map(([id, rows]) => `${id}×${rows}${gone.includes(id) ? '!' : ''}`).join(' '),
    })),
    answers: Object.fromEntries(
      Object.entries(seen.answers ?? {}).map(([id, { answer, text, shape, at_ms: at }]): [string, SimulatedAnswer] => [
        id,
        {
          outcome: OUTCOMES[answer] ?? String(answer),
          text: withOurName(text, testCase),
          shape,
          at: moments.answer(id, at),
        },
      ]),
    ),
    stream: (seen.stream ?? [])
      .filter(({ stream_ended: ended }) => ended === undefined)
      .map(({ id, error, at_ms: at }) => ({
        id: id!,
        error: withOurName(error, testCase),
        at: moments.answer(id!, at),
      })),
    probes: [
      ...(seen.probes ?? []).map(({ nv_inference_pending_request_count: count }) => `pending ${count}`),
      ...(seen.notes ?? []).flatMap(noteTexts),
    ],
    statistics: seen.statistics ?? {},
    metrics: seen.metrics,
  };
}

/** The recorded models have other names. */
function withOurName(text: string | undefined, { name }: SchedulerCase): string | undefined {
  return text?.replace(/(unknown model: |for |model )'[^']+'/, `$1'${name}'`);
}

/** The code is ours: the recorded server says INTERNAL of whatever does not load, and the reason in its log. */
function refusalOf(
  { load = 'ok', server_log: log = '' }: RecordedOutcome,
  { name }: SchedulerCase,
): SchedulerOutcome['refused'] {
  if (load === 'ok') return undefined;
  const recordedName = name.replace(/^config-/, '');
  const text = log
    .replace(/^Poll failed for model directory '[^']*': /, '')
    .replace(` for ${recordedName}`, '')
    .replace(` model ${recordedName} `, ` model '${name}' `);
  return { code: 'INVALID_ARG', text };
}

/**
 * What the executions come to exactly, where what was recorded is what the recorded moments come to: each request was
 * some milliseconds late. All requests that were executed count as answered in the recorded server.
 */
function exactDurations(
  recorded: Durations | undefined,
  outcomes: Readonly<Record<'exact' | 'asRecorded', Omit<SchedulerOutcome, 'durations'>>>,
  testCase: SchedulerCase,
): Durations | undefined {
  if (recorded === undefined) return undefined;
  const exact = durationsOf(outcomes.exact, testCase, () => true);
  const asRecorded = durationsOf(outcomes.asRecorded, testCase, () => true);
  const allowed = LATE_MS * (testCase.arrivals.length + 1);
  const chosen = (name: keyof Durations) =>
    Math.abs(asRecorded[name] - recorded[name]) <= allowed ? exact[name] : recorded[name];
  return {
    success: chosen('success'),
    fail: chosen('fail'),
    queue: chosen('queue'),
    compute_infer: chosen('compute_infer'),
  };
}

const LATE_MS = 10;

const OUTCOMES: Readonly<Record<string, string>> = {
  503: 'UNAVAILABLE',
  INVALID_ARGUMENT: 'INVALID_ARG',
  'cancelled by the client': 'cancelled',
};

function noteTexts({ index, live, ready, model_ready: model }: Readonly<Record<string, unknown>>): string[] {
  const texts: string[] = [];
  if (index !== undefined)
    texts.push(...(index as [string, string][]).map(([state, reason]) => `index ${state} ${reason}`.trimEnd()));
  if (live !== undefined) texts.push(`live ${live === 200}, ready ${ready === 200}, model ${model === 200}`);
  return texts;
}
