// What a model with a response cache has in front of its scheduler. The cache answers a request at once where it has the answer.
// A request that asks the same as one under way waits for its answer. The scheduler runs all others, and the cache keeps their
// answers. It keeps no errors: requests that waited for an execution share its failure. When the request that they wait for ends
// before it runs, another one takes its place.

import { TritonError } from '../../errors.js';
import type { CompleteModelConfig } from '../../model/complete-model-config.js';
import type { PacedWork } from '../../pacing/paced-work.js';
import type { EngineLogger } from '../engine-logger.js';
import type { Answer, OutcomeWatcher, PendingRequest } from '../scheduler/pending-request.js';
import type { RequestOutcomes } from '../scheduler/request-outcomes.js';
import type { Scheduler } from '../scheduler/scheduler.js';
import type { InferenceStatistics } from '../scheduler/statistics.js';
import { CACHE_PARAMETER, requestKey } from './request-key.js';
import type { KeptAnswers, ResponseCache } from './response-cache.js';

export interface CachedSchedulerOptions {
  readonly config: CompleteModelConfig;
  readonly scheduler: Scheduler;
  readonly outcomes: RequestOutcomes;
  readonly cache: ResponseCache;
  readonly statistics: InferenceStatistics;
  readonly logger: EngineLogger;
}

export class CachedScheduler {
  readonly #config: CompleteModelConfig;
  readonly #scheduler: Scheduler;
  readonly #outcomes: RequestOutcomes;
  readonly #cache: ResponseCache;
  readonly #statistics: InferenceStatistics;
  readonly #logger: EngineLogger;
  readonly #kept: KeptAnswers = new Map();
  readonly #flights = new Map<string, Flight>();
  #warned = false;

  constructor({ config, scheduler, outcomes, cache, statistics, logger }: CachedSchedulerOptions) {
    this.#config = config;
    this.#scheduler = scheduler;
    this.#outcomes = outcomes;
    this.#cache = cache;
    this.#statistics = statistics;
    this.#logger = logger;
  }

  /** What the request's answer is kept by; undefined for one that wants no kept answer. */
  *keyOf(request: PendingRequest): PacedWork<string | undefined> {
    if (request.parameters?.[CACHE_PARAMETER] === false) return undefined;
    return yield* requestKey(this.#config, request);
  }

  /** Takes ownership of a request that is accepted. */
  enqueue(request: PendingRequest, key: string | undefined): void {
    if (key === undefined) return this.#scheduler.enqueue(request);
    const kept = this.#cache.get(this.#kept, key);
    request.lookupMs = performance.now() - request.startedAt;
    if (kept !== undefined) return this.#hit(request, kept);
    const flight = this.#flights.get(key);
    if (flight?.takes(request)) {
      this.#outcomes.takeTurn(request);
      flight.add(request);
    } else {
      this.#watch(key, request);
      this.#scheduler.enqueue(request);
    }
  }

  /** Forgets all answers of this model. */
  clear(): void {
    this.#cache.forget(this.#kept);
  }

  #watch(key: string, request: PendingRequest): void {
    const flight: Flight = new Flight(request, {
      answered: (answer) => this.#land(key, flight, answer),
      failed: (error, isLeft) => this.#crash(key, flight, { error, isLeft }),
    });
    request.watcher = flight;
    this.#flights.set(key, flight);
  }

  #land(key: string, flight: Flight, answer: Answer): void {
    this.#forget(key, flight);
    const startedAt = performance.now();
    this.#insert(key, answer);
    this.#statistics.recordCacheMiss(flight.leader.lookupMs + performance.now() - startedAt);
    this.#cache.countMiss();
    for (const follower of flight.followers) this.#hit(follower, answer);
  }

  /** A hit of the model is one of the cache, whether the answer was kept or has just come. */
  #hit(request: PendingRequest, answer: Answer): void {
    if (this.#outcomes.answer(request, answer)) this.#cache.countHit();
  }

  #crash(key: string, flight: Flight, { error, isLeft }: Crash): void {
    this.#forget(key, flight);
    for (const follower of flight.followers) {
      if (follower.decided) continue;
      if (flight.leader.isDispatched && !isLeft) {
        this.#outcomes.fail(follower, error, 'BACKEND');
        continue;
      }
      // The refusal was the leader's own, or its client left while it began: the first of the others takes its place.
      const next = this.#flights.get(key);
      if (next?.takes(follower)) {
        next.add(follower);
      } else {
        this.#watch(key, follower);
        this.#scheduler.enqueue(follower);
      }
    }
  }

  #forget(key: string, flight: Flight): void {
    if (this.#flights.get(key) === flight) this.#flights.delete(key);
  }

  #insert(key: string, answer: Answer): void {
    try {
      const byteSize = this.#cache.insert(this.#kept, key, answer);
      if (byteSize <= this.#cache.capacity || this.#warned) return;
      this.#warned = true;
      const { name } = this.#config;
      this.#logger.warn(
        `an answer of model '${name}' takes ${byteSize} bytes of the response cache, more than its ${this.#cache.capacity}: such answers are not kept`,
      );
    } catch (error) {
      // No memory for a copy: the clients have their answers all the same.
      this.#logger.error(`the response cache could not keep an answer: ${TritonError.from(error).message}`);
    }
  }
}

interface Crash {
  readonly error: TritonError;
  /** The client of the leader is gone. */
  readonly isLeft: boolean;
}

/** A request under way, and the requests that wait for its answer. */
class Flight implements OutcomeWatcher {
  leader: PendingRequest;
  readonly followers = new Set<PendingRequest>();
  readonly answered: OutcomeWatcher['answered'];
  readonly failed: OutcomeWatcher['failed'];

  constructor(leader: PendingRequest, { answered, failed }: Pick<OutcomeWatcher, 'answered' | 'failed'>) {
    this.leader = leader;
    this.answered = answered;
    this.failed = failed;
  }

  /** Whether a request has its answer here at least as soon as from the queue. */
  takes({ priority, timeoutMicroseconds }: PendingRequest): boolean {
    const { leader } = this;
    return leader.isDispatched || (leader.priority === priority && leader.timeoutMicroseconds === timeoutMicroseconds);
  }

  /** A request waits for the answer, as long as its client does. */
  add(follower: PendingRequest): void {
    this.followers.add(follower);
    const leave = () => void this.followers.delete(follower);
    follower.watcher = { answered: leave, failed: leave, takeOver: () => false };
  }

  /** The client of an executing leader is gone: another request takes the execution over. */
  takeOver(): boolean {
    for (const next of this.followers) {
      this.followers.delete(next);
      if (next.decided) continue;
      this.leader.handOver(next);
      this.leader = next;
      return true;
    }
    return false;
  }
}
