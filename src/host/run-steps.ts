// Runs the result of a decoupled model's callable. It is one series of steps for the whole batch, or one stream per
// request, or either of them for groups of requests. Each step for the batch has a place per request. A value that is
// returned instead of yielded is the only step. The runner waits for slow readers, stops for readers that are gone, and
// ends every request exactly once.

import { TritonError } from '../errors.js';
import { disownPromises } from '../model/awaitable.js';
import type { HostedRequest } from '../model/inference-request.js';
import { asSteps, type RequestGroup, RequestGroups, RequestStreams, type Steps } from '../model/steps.js';
import { awaitEach, expectResults, type HostStream, type ResolvedResult } from './host-results.js';
import { loopShare } from '../pacing/loop-share.js';

export interface StepsRun {
  readonly requests: readonly HostedRequest[];
  readonly stream: HostStream;
  /** Checks a step's value for a request. */
  readonly resolve: (result: unknown, index: number) => ResolvedResult;
  /** Makes the errors of these requests, when the callable failed on all of them. */
  readonly failAll: (thrown: unknown, indices: readonly number[]) => readonly TritonError[];
  /** Runs a part of the callable within the span of a traced batch. */
  readonly inside?: Inside | undefined;
  /** The model's name, for messages. */
  readonly model: string;
}

type Inside = <Result>(fn: () => Result) => Result;

const directly: Inside = (fn) => fn();

/** Runs all steps. Rejects when the callable failed as a whole. Only the requests that this failure fails are open then. */
export async function runSteps(result: unknown, run: StepsRun): Promise<void> {
  const { requests, stream, inside } = run;
  if (RequestStreams.is(result)) {
    await Promise.all(result.streams.map((start, index) => runOwnStream(start, index, run)));
    return;
  }
  if (RequestGroups.is(result)) {
    await Promise.all(result.groups.map((group) => runGroup(group, run)));
    return;
  }
  const open = new Set(requests.keys());
  const steps = asSteps(await awaitEach(result));
  await eachStep(steps, inside, (step) => {
    disownPromises(step);
    const list = expectResults(step, requests.length, run.model);
    const slow: Promise<void>[] = [];
    for (const index of open) {
      if (requests[index]!.aborted) {
        open.delete(index);
        stream.end(index);
        continue;
      }
      if (list[index] === undefined && requests[index]!.failure === undefined) continue;
      const { ended, reader } = answer(run, index, list[index]);
      if (ended) open.delete(index);
      if (reader !== undefined) slow.push(reader);
    }
    return { goOn: open.size > 0, slow };
  });
  for (const index of open) end(run, index);
}

/** Runs a group's own steps. Its failure fails only the group. */
async function runGroup({ members, start }: RequestGroup, run: StepsRun): Promise<void> {
  const open = new Set(members);
  const placeOf = (index: number) => members[index]!;
  try {
    await runSteps(await (run.inside ?? directly)(start), {
      ...run,
      requests: members.map((place) => run.requests[place]!),
      resolve: (result, index) => run.resolve(result, placeOf(index)),
      failAll: (thrown, indices) => run.failAll(thrown, indices.map(placeOf)),
      stream: {
        respond: (index, outputs, more) => {
          if (more?.final === true) open.delete(placeOf(index));
          return run.stream.respond(placeOf(index), outputs, more);
        },
        end: (index, error) => {
          open.delete(placeOf(index));
          run.stream.end(placeOf(index), error);
        },
      },
    });
  } catch (error) {
    const left = [...open];
    run.failAll(error, left).forEach((failure, index) => run.stream.end(left[index]!, failure));
  }
}

/** Runs one request's own stream. Its failure fails only the request. */
async function runOwnStream(start: () => unknown, index: number, run: StepsRun): Promise<void> {
  const request = run.requests[index]!;
  let ended = false;
  try {
    const steps = asSteps(await (run.inside ?? directly)(start));
    await eachStep(steps, run.inside, (step) => {
      if (request.aborted) return { goOn: false, slow: [] };
      const answered = answer(run, index, step);
      ended = answered.ended;
      return { goOn: !ended, slow: answered.reader === undefined ? [] : [answered.reader] };
    });
    if (!ended) end(run, index);
  } catch (error) {
    run.stream.end(index, TritonError.from(error));
  }
}

/** Ends a request after its last step. */
function end(run: StepsRun, index: number): void {
  // One of its rows may have failed since its last answer.
  if (run.requests[index]!.failure === undefined) run.stream.end(index);
  else void answer(run, index, undefined);
}

interface Answered {
  /** The request has failed, or had its final response. */
  readonly ended: boolean;
  /** Set where the reader is slow. */
  readonly reader: Promise<void> | undefined;
}

const GOES_ON: Answered = { ended: false, reader: undefined };
const ENDED: Answered = { ended: true, reader: undefined };

/** Sends a request its value of a step. */
function answer(run: StepsRun, index: number, value: unknown): Answered {
  const { outcome, more } = run.resolve(value, index);
  if (TritonError.is(outcome)) {
    run.stream.end(index, outcome);
    return ENDED;
  }
  const ended = more?.final === true;
  const reader = run.stream.respond(index, outcome, more);
  if (reader === undefined) return ended ? ENDED : GOES_ON;
  return { ended, reader };
}

interface AfterStep {
  readonly goOn: boolean;
  /** The readers that the next step waits for. */
  readonly slow: readonly Promise<void>[];
}

/** Takes steps until they end or `take` wants no more; the generator's `finally` runs in either case. */
async function eachStep(
  steps: Steps<unknown>,
  inside: Inside = directly,
  take: (step: unknown) => AfterStep,
): Promise<void> {
  const isAsync = Symbol.asyncIterator in steps;
  const iterator = isAsync ? steps[Symbol.asyncIterator]() : steps[Symbol.iterator]();
  let finished = false;
  let isFirst = true;
  try {
    for (;;) {
      const step = inside(() => iterator.next());
      const next = isAsync ? await step : (step as IteratorResult<unknown>);
      if (next.done === true) {
        finished = true;
        return;
      }
      // A generator that never waits must not keep the event loop to itself. It pauses with a step, not before one: the end of the
      // steps then comes in the turn of the last of them.
      if (!isFirst && loopShare.isUsedUp()) await new Promise<void>((resolve) => loopShare.next(resolve));
      isFirst = false;
      const { goOn, slow } = take(next.value);
      if (slow.length > 0) await Promise.all(slow);
      if (!goOn) return;
    }
  } catch (error) {
    // An error from `next` has ended the generator; an error from `take` has not.
    throw TritonError.from(error);
  } finally {
    // Its requests have ended: nobody is told that its `finally` fails.
    if (!finished) await inside(async () => iterator.return?.(undefined)).catch(() => undefined);
  }
}
