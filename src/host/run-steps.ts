// Runs what the callable of a decoupled model gave: one series of steps for the whole batch, each with a place per
// request, one stream per request, or either for groups of requests. What is returned instead of yielded is the only
// step. Waits for slow readers, stops for those who are gone, and ends every request exactly once.

import { TritonError } from '../errors.js';
import { disownPromises } from '../model/awaitable.js';
import type { HostedRequest } from '../model/inference-request.js';
import { asSteps, type RequestGroup, RequestGroups, RequestStreams, type Steps } from '../model/steps.js';
import { awaitEach, expectResults, type HostStream, type ResolvedResult } from './host-results.js';
import { loopShare } from './loop-share.js';

export interface StepsRun {
  readonly requests: readonly HostedRequest[];
  readonly stream: HostStream;
  /** What a step's value for a request means. */
  readonly resolve: (result: unknown, index: number) => ResolvedResult;
  /** What these requests fail with when the callable failed on all of them. */
  readonly failAll: (thrown: unknown, indices: readonly number[]) => readonly TritonError[];
  /** Runs a part of the callable in what surrounds it: the span of a traced batch. */
  readonly inside?: Inside | undefined;
  /** The model's name, for messages. */
  readonly model: string;
}

type Inside = <Result>(fn: () => Result) => Result;

const directly: Inside = (fn) => fn();

/** Rejects, with no request left open but those that the rejection is to fail, when the callable failed as a whole. */
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
      const outcome = answer(run, index, list[index]);
      if (outcome === 'failed') open.delete(index);
      else if (outcome !== undefined) slow.push(outcome);
    }
    return { goOn: open.size > 0, slow };
  });
  for (const index of open) end(run, index);
}

/** A group's own steps: its failure is no other group's. */
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
        respond: (index, outputs, parameters) => run.stream.respond(placeOf(index), outputs, parameters),
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

/** One request's own stream: its failure is nobody else's. */
async function runOwnStream(start: () => unknown, index: number, run: StepsRun): Promise<void> {
  const request = run.requests[index]!;
  let failed = false;
  try {
    const steps = asSteps(await (run.inside ?? directly)(start));
    await eachStep(steps, run.inside, (step) => {
      if (request.aborted) return { goOn: false, slow: [] };
      const outcome = answer(run, index, step);
      failed = outcome === 'failed';
      return { goOn: !failed, slow: outcome instanceof Promise ? [outcome] : [] };
    });
    if (!failed) end(run, index);
  } catch (error) {
    run.stream.end(index, TritonError.from(error));
  }
}

/** Ends a request whose steps have come to an end. */
function end(run: StepsRun, index: number): void {
  // One of its rows may have failed since its last answer.
  if (run.requests[index]!.failure === undefined) run.stream.end(index);
  else void answer(run, index, undefined);
}

/** Gives a request what a step has for it. */
function answer(run: StepsRun, index: number, value: unknown): Promise<void> | undefined | 'failed' {
  const { outcome, parameters } = run.resolve(value, index);
  if (TritonError.is(outcome)) {
    run.stream.end(index, outcome);
    return 'failed';
  }
  return run.stream.respond(index, outcome, parameters) ?? undefined;
}

interface AfterStep {
  readonly goOn: boolean;
  /** Readers to wait for before the next step. */
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
  try {
    for (;;) {
      const step = inside(() => iterator.next());
      const next = isAsync ? await step : (step as IteratorResult<unknown>);
      if (next.done === true) {
        finished = true;
        return;
      }
      const { goOn, slow } = take(next.value);
      if (slow.length > 0) await Promise.all(slow);
      if (!goOn) return;
      // A generator that never waits must not keep the event loop from everything else.
      if (loopShare.isUsedUp()) await new Promise<void>((resolve) => loopShare.next(resolve));
    }
  } catch (error) {
    // What `next` threw has ended the generator; what `take` threw has not.
    throw TritonError.from(error);
  } finally {
    if (!finished) await Promise.resolve(inside(() => iterator.return?.(undefined))).catch(() => undefined);
  }
}
