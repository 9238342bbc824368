// Where our scheduling differs from Triton's on purpose.
import type { Arrival, QueuePolicyJson, SchedulerCase } from './cases.js';
import type { SchedulerRule } from './replay-scheduler.js';
import { follow, type Changes } from './scheduler-outcomes.js';
import type { SchedulerOutcome } from './scheduler-simulator.js';

/** A rule that says for named scenarios what happens instead. */
function inCases(
  cases: Readonly<
    Record<string, Changes | ((recorded: SchedulerOutcome, testCase: SchedulerCase) => SchedulerOutcome)>
  >,
): Pick<SchedulerRule, 'cases' | 'expects'> {
  return {
    cases: Object.keys(cases),
    expects: (recorded, testCase) => {
      const change = cases[testCase.name] ?? {};
      return typeof change === 'function' ? change(recorded, testCase) : follow(recorded, testCase, change);
    },
  };
}

const EXITING = { outcome: 'UNAVAILABLE', text: 'Server exiting', at: 1100 };

export const SCHEDULER_RULES: readonly SchedulerRule[] = [
  {
    name: 'a batch is decided when an instance is free',
    reason:
      'Triton puts one batch together ahead while the instance is busy; that one stops at the first preferred size it meets or passes it, depending on when requests came. Here all that waits is looked at, and the largest preferred size that can be had is taken; where there is none, or once the delay is over, all that fits.',
    ...inCases({
      'pref4-passed-3-2-1-2': { executions: 'z×1 0-200 | a×3 b×2 c×1 d×2 200-300' },
      'pref4-passed-2-3-3': { executions: 'z×1 0-200 | a×2 b×3 c×3 200-300' },
      'pref4-rows-5': { executions: 'z×1 0-200 | a×5 b×2 c×1 200-300' },
      'pref4-rows-1-6': { executions: 'z×1 0-200 | a×1 b×6 c×1 200-300' },
      'pref24-five': { executions: 'z×1 0-200 | a×1 b×1 c×1 d×1 200-300 | e×1 300-400' },
      'pref24-seven': { executions: 'z×1 0-300 | a×1 b×1 c×1 d×1 300-400 | e×1 f×1 400-500 | g×1 500-600' },
      'pref4-delay-busy-long-six': { executions: 'z×4 0-500 | a×1 b×1 c×1 d×1 e×1 f×1 500-600' },
    }),
  },
  {
    name: 'an instance runs one batch at a time',
    reason: 'The recordings have the third batch on the instance that is still busy with the second.',
    ...inCases({
      'instances-burst': {
        executions: 'a×1 0-300 on 0 | b×1 20-320 on 1 | c×1 d×1 e×1 f×1 300-400 on 0 | g×1 h×1 320-420 on 1',
      },
      'instances-delay-busy': {
        executions: 'a×4 0-300 on 0 | b×4 20-320 on 1 | c×1 d×1 e×1 300-400 on 0 | f×4 320-420 on 1',
      },
    }),
  },
  {
    name: 'a batch that cannot grow goes at once',
    reason:
      'Triton 2.51 waits out the delay although the next request has other optional inputs; newer ones send, as they do before another shape.',
    ...inCases({ 'optional-delay-change': { executions: 'a×1 50-150 | b×1 c×1 350-450' } }),
  },
  {
    name: 'what was cancelled does not run',
    reason:
      'Triton runs cancelled requests of the batch that it formed ahead, all of models without batching, and all whose HTTP connection ended; they take up rows and places in the queue meanwhile.',
    ...inCases({
      'none-cancel-queued': { executions: 'z×1 0-300 | a×1 300-400 | c×1 400-500' },
      'none-cancel-queued-http': { executions: 'z×1 0-300 | a×1 300-400 | c×1 400-500' },
      'dyn-cancel-first-queued': { executions: 'z×1 0-300 | b×1 c×1 300-400' },
      'dyn-cancel-middle-queued': { executions: 'z×1 0-300 | a×1 c×1 300-400' },
      'dyn-cancel-all-queued': { executions: 'z×1 0-300' },
      'dyn-cancel-http-queued': { executions: 'z×1 0-300 | a×1 c×1 300-400' },
      'dyn-cancel-stream': { executions: 'z×1 0-300 | c×1 300-400' },
      'dyn-cancel-in-fourth-batch': {},
      'ordering-on-cancelled-queued': { executions: 'a×1 0-300 | b×1 20-320 | d×1 300-350' },
      'priority-cancel-queued': {},
      'size2-cancelled-counts': { executions: 'z×1 0-300 | b×1 c×1 300-400' },
    }),
  },
  {
    name: 'who cancelled has failed',
    reason:
      "Triton counts a request that was cancelled while it ran as a success, and holds the answers after it back until its execution ends where answers keep their order. Here it is over at once, counted under nv_inference_request_failure's reason CANCELED.",
    ...inCases({
      'none-cancel-executing': {},
      'dyn-cancel-executing': {},
      'dyn-cancel-executing-one-of-two': {},
      'ordering-on-cancelled-first': { answers: { b: { at: 100 }, c: { at: 120 } } },
    }),
  },
  {
    name: 'who gives up has waited until then',
    reason:
      'Triton notices cancellations, and timeouts on a stream, when it forms a batch, and counts the time until then as that of the failure.',
    ...inCases({
      'dyn-cancel-in-second-batch': {},
      'delay500-cancel': {},
      'delay500-cancel-oldest': {},
      'delay500-cancel-only': {},
      'delayed-cancel': {},
      'reject-stream': { durations: { fail: 100 } },
    }),
  },
  {
    name: 'an error is a failure',
    reason: "Errors of Triton's Python backend count as success.",
    cases: [
      'dyn-error-in-batch',
      'dyn-error-whole-batch',
      'ordering-on-error-first',
      'ordering-on-error-middle',
      'decoupled-rows',
    ],
    expects: (recorded, testCase) =>
      testCase.arrivals.some(({ fails }) => fails) && !testCase.config.response_cache
        ? follow(recorded, testCase)
        : undefined,
  },
  {
    name: 'a failed stream of responses has one error',
    reason: 'The recorded model sends its error for each response that it would have sent.',
    ...inCases({
      'decoupled-rows': (recorded, testCase) => {
        const stream = [...recorded.stream.filter(({ id }) => id !== 'd'), recorded.stream.at(-1)!];
        return follow(recorded, testCase, { stream });
      },
    }),
  },
  {
    name: 'a time-out is answered when it happens',
    reason:
      'Triton notices timeouts when it forms a batch, or twice a second while its instances are busy, and answers at the next such moment: up to a second late. Whoever cancelled meanwhile had timed out before.',
    cases: [
      'reject-burst',
      'reject-long',
      'reject-override-not-allowed',
      'reject-http',
      'reject-max1-chain',
      'reject-cancelled-before',
      'reject-cancelled-after-expiry',
      'reject-arrival-wakes',
      'reject-below-delay',
      'override-smaller-larger-zero',
      'override-larger-does-not-lengthen',
      'levels-policies',
    ],
    expects: (recorded, testCase) => {
      const answers = Object.fromEntries(
        testCase.arrivals.flatMap((arrival) => {
          const at = arrival.at_ms + timeoutMs(arrival, testCase);
          const { outcome, text, at: recordedAt = 0 } = recorded.answers[arrival.id] ?? {};
          const waited = !recorded.executions.some(({ batch }) => batch.split(/×\S+ ?/).includes(arrival.id));
          const expired = text === 'Request timeout expired' || (outcome === 'cancelled' && recordedAt > at && waited);
          return expired ? [[arrival.id, { outcome: 'UNAVAILABLE', text: 'Request timeout expired', at }]] : [];
        }),
      );
      return Object.keys(answers).length === 0 ? undefined : follow(recorded, testCase, { answers });
    },
  },
  {
    name: 'rows of different shapes never share a batch',
    reason: 'Triton has ragged batches for models that ask for them; TSTriton has not.',
    ...inCases({ 'ragged-delay': { executions: 'a×1 50-150 | b×1 150-250 | c×2 400-500' } }),
  },
  {
    name: 'the same question is asked once',
    reason:
      'Triton runs every one of several identical requests that are under way together, and counts all but one of them as neither hit nor miss. Here the first runs and the others have its answer, as hits.',
    ...inCases({
      'cache-concurrent-misses': {
        executions: 'z×1 0-200 | a×1 200-300',
        answers: ok({ b: 300, c: 300 }),
        cacheHits: 3,
      },
      'cache-concurrent-misses-separate': { executions: 'a×1 0-200', answers: ok({ b: 200 }), cacheHits: 2 },
      'cache-without-batching': { executions: 'a×1 0-100', answers: ok({ b: 100 }), cacheHits: 2 },
    }),
  },
  {
    name: 'errors are not kept',
    reason: 'Triton keeps an error; the next equal request then gets an OK answer that has no outputs.',
    ...inCases({
      'cache-error-kept': { executions: 'a×1 0-50 | b×1 100-150 | c×1 200-250', cacheHits: 0, cacheMisses: 0 },
    }),
  },
  {
    name: 'answers are kept by shape as well',
    reason: "Triton goes by the inputs' bytes alone, and answers with the wrong shape.",
    ...inCases({
      'cache-same-bytes-other-shape': {
        executions: 'a×2 0-50 | b×1 100-150',
        answers: { b: { shape: [1, 4] } },
        cacheHits: 1,
        cacheMisses: 2,
      },
    }),
  },
  {
    name: 'answers are kept by parameters as well',
    reason: 'The callable gets them and may answer differently.',
    ...inCases({
      'cache-other-id-priority-parameters': { executions: 'a×1 0-50 | d×1 300-350', cacheHits: 4, cacheMisses: 2 },
    }),
  },
  {
    name: 'the answer of a cancelled execution is not kept',
    reason: 'A callable that was told to stop may answer anything.',
    ...inCases({
      'cache-cancelled-executing': {
        executions: 'a×1! 0-200 | b×1 400-600',
        cacheHits: 0,
        cacheMisses: 1,
      },
    }),
  },
  {
    name: 'the cache keeps the order of answers',
    reason: 'With preserve_ordering Triton loses answers of a model with a response cache.',
    ...inCases({
      'ordering-on-cache-hit': (recorded) => ({
        ...recorded,
        stream: [
          { id: 'y', error: undefined, at: 50 },
          { id: 'a', error: undefined, at: 300 },
          { id: 'b', error: undefined, at: 300 },
          { id: 'c', error: undefined, at: 350 },
        ],
      }),
      'ordering-on-cache-calls': (recorded) => ({
        ...recorded,
        answers: {
          ...recorded.answers,
          y: { outcome: 'ok', text: undefined, shape: undefined, at: 50 },
          c: { outcome: 'ok', text: undefined, shape: undefined, at: 350 },
        },
      }),
    }),
  },
  {
    name: 'a model is unloaded when its last request has ended',
    reason: "Triton's index still says UNLOADING a while later.",
    cases: ['unload-while-busy', 'unload-while-busy-none', 'unload-while-delaying'],
    expects: ({ probes, ...recorded }) => {
      const last = probes.lastIndexOf('index UNLOADING');
      if (last <= probes.indexOf('index UNLOADING')) return undefined;
      return {
        ...recorded,
        probes: probes.map((probe, index) => (index === last ? 'index UNAVAILABLE unloaded' : probe)),
      };
    },
  },
  {
    name: 'a server that stops still answers over HTTP',
    reason: 'Triton closes its HTTP port at once; the client learns nothing.',
    ...inCases({
      'stop-while-busy': (recorded) => ({
        ...recorded,
        answers: { ...recorded.answers, d: { ...stopping('d'), at: 250 } },
      }),
    }),
  },
  {
    name: 'a server that stops takes nothing new',
    reason: 'Triton still takes requests for models without dynamic batching.',
    ...inCases({
      'stop-while-busy-none': {
        executions: 'z×1 0-400 | a×1 400-500 | b×1 500-600',
        answers: { c: { ...stopping('c'), at: 200 } },
      },
    }),
  },
  {
    name: 'the exit timeout is kept',
    reason: 'Triton runs everything to the end and only then exits with an error.',
    ...inCases({
      'stop-longer-than-exit-timeout': {
        executions: 'z×1! 0-3000',
        answers: { z: EXITING, a: EXITING, b: EXITING },
      },
    }),
  },
  {
    name: 'a batch of no rows is refused as such',
    reason: 'Triton complains about the number of bytes.',
    ...inCases({
      'dyn-rows-zero': (recorded) => ({
        ...recorded,
        answers: {
          ...recorded.answers,
          b: {
            ...recorded.answers['b']!,
            text: "[request id: b] inference request batch-size must be >= 1 for 'dyn-rows-zero', got 0",
          },
        },
      }),
    }),
  },
  {
    name: 'preferred sizes need batches',
    reason: 'Triton says that they are above the maximum, which is then 0.',
    ...inCases({
      'config-preferred-without-batching': (recorded) => ({
        ...recorded,
        refused: { code: 'INVALID_ARG', text: 'needs batching: without a batch axis each request runs alone' },
      }),
    }),
  },
  {
    name: 'a policy needs its level',
    reason: 'Triton ignores a policy for levels that are not there.',
    ...inCases({
      'config-policy-without-levels': (recorded) => ({
        ...recorded,
        refused: { code: 'INVALID_ARG', text: 'needs priorityLevels, got a policy for level 1 with no levels' },
      }),
    }),
  },
];

function ok(moments: Readonly<Record<string, number>>): NonNullable<Changes['answers']> {
  return Object.fromEntries(
    Object.entries(moments).map(([id, at]) => [id, { outcome: 'ok', text: undefined, shape: undefined, at }]),
  );
}

function stopping(id: string) {
  const text = `[request id: ${id}] Server is stopping, scheduler for model has stopped accepting new inference requests`;
  return { outcome: 'UNAVAILABLE', text, shape: undefined };
}

/** How long a request may wait; a request's own timeout can only shorten that of its level. */
function timeoutMs({ priority = 0, timeout_us: own = 0 }: Arrival, { config }: SchedulerCase): number {
  const batcher = config.dynamic_batching ?? {};
  const levels = batcher.priority_levels ?? 0;
  const level = priority >= 1 && priority <= levels ? priority : (batcher.default_priority_level ?? 0);
  const policy: QueuePolicyJson = batcher.priority_queue_policy?.[level] ?? batcher.default_queue_policy ?? {};
  // With DELAY it moves behind the others, and waits on.
  const standard = policy.timeout_action === 'DELAY' ? 0 : (policy.default_timeout_microseconds ?? 0);
  const timeout = policy.allow_timeout_override && own !== 0 && own < standard ? own : standard;
  return timeout === 0 ? Infinity : timeout / 1000;
}
