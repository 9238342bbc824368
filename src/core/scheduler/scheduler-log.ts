// Logs what the scheduler decides. Verbose level 1 logs each batch, the reason for its release, and each request that ends
// without a batch. Level 2 also logs each request and each wait. The scheduler asks for the level before it says anything.

import type { TritonError } from '../../errors.js';
import type { CompleteModelConfig } from '../../model/complete-model-config.js';
import type { RequestSequence } from '../../model/request-sequence.js';
import type { EngineLogger } from '../engine-logger.js';
import type { PendingRequest } from './pending-request.js';
import type { Release } from './batch-queue.js';
import type { ReleaseReason } from './request-group.js';

export class SchedulerLog {
  readonly #logger: EngineLogger;
  readonly #model: string;
  readonly #name: string;

  constructor({ name, version }: CompleteModelConfig, logger: EngineLogger) {
    this.#logger = logger;
    this.#name = name;
    this.#model = `model '${name}' version ${version}`;
  }

  /** The verbose level of the logger, which may change at any time. */
  get level(): number {
    return this.#logger.verboseLevel ?? 0;
  }

  queued({ id, rows, priority }: PendingRequest, waiting: number): void {
    const level = priority === 0 ? '' : `, priority ${priority}`;
    this.#write(
      2,
      `request ${nameOf(id)} waits: ${count(rows, 'row')}${level}; ${count(waiting, 'request')} in the queue`,
    );
  }

  waits(milliseconds: number, waiting: number): void {
    this.#write(2, `${count(waiting, 'request')} wait for a fuller batch, for ${time(milliseconds)} at most`);
  }

  released(
    { batch, rows, reason }: Release<PendingRequest>,
    now: { at: number; instance: number; waiting: number },
  ): void {
    const oldest = batch.reduce((earliest, { waitsSince }) => Math.min(earliest, waitsSince), Infinity);
    const ids = this.level >= 2 ? ` (${batch.map(({ id }) => nameOf(id)).join(', ')})` : '';
    this.#write(
      1,
      `batch of ${count(batch.length, 'request')}${ids}, ${count(rows, 'row')}, to instance ${now.instance}: ${REASONS[reason]}; ` +
        `the oldest waited ${time(now.at - oldest)}, ${now.waiting} still wait`,
    );
  }

  answeredFromCache({ id }: PendingRequest): void {
    this.#write(2, `request ${nameOf(id)} is answered from the response cache`);
  }

  refused({ id }: PendingRequest, { message }: TritonError): void {
    this.#write(1, `request ${nameOf(id)} is refused: ${message}`);
  }

  expired({ id, startedAt }: PendingRequest, now: number): void {
    this.#write(1, `request ${nameOf(id)} is refused: its time in the queue is over after ${time(now - startedAt)}`);
  }

  cancelled({ id, isDispatched }: PendingRequest): void {
    this.#write(1, `request ${nameOf(id)} is cancelled ${isDispatched ? 'while it runs' : 'before it ran'}`);
  }

  /** A warning in Triton's words. */
  sequenceConflict(id: RequestSequence['id']): void {
    this.#logger.warn(
      `sequence ${id} for model '${this.#name}' has a conflict. The previous sequence did not end before this sequence start. Previous sequence will be terminated early.`,
    );
  }

  stuck(instance: number, reason: string): void {
    this.#logger.error(`${this.#model}: instance ${instance} does not come to an end: ${reason}`);
  }

  #write(level: number, message: string): void {
    this.#logger.verbose(level, `${this.#model}: ${message}`);
  }
}

const REASONS = {
  full: 'no more rows fit',
  preferred: 'a preferred size',
  delay: 'its delay is over',
  idle: 'the instance is free',
  shape: 'the next has other inputs or another shape',
  single: 'without batching',
} as const satisfies Record<ReleaseReason, string>;

function nameOf(id: string): string {
  return id === '' ? '<id_unknown>' : `'${id}'`;
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`;
}

function time(milliseconds: number): string {
  return `${milliseconds.toFixed(2)} ms`;
}
