// The threads of a bound model's instance groups, kept alive together.

import type { TritonError } from '../errors.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import type { InstanceGroup } from '../model/instance-group.js';
import { InstanceSupervisor, type SupervisorOptions, type ThreadedInstance } from './instance-supervisor.js';

export interface InstanceThreadsOptions {
  readonly config: CompleteModelConfig;
  readonly groups: readonly InstanceGroup[];
  /** Number of the first thread's instance within the model. */
  readonly firstInstance: number;
  readonly logger: SupervisorOptions['logger'];
  /** Called after a thread was started again. */
  readonly onRestart: (thread: ThreadedInstance) => void;
  readonly onUnrecoverable: (error: TritonError) => void;
  /** Whether requests may be traced. Default false. */
  readonly traces?: boolean;
}

export class InstanceThreads {
  readonly #supervisors: readonly InstanceSupervisor[];
  /** Threads of the first start, in the order of the instances; `onRestart` gets later threads. */
  #starting: (ThreadedInstance | undefined)[] | undefined = [];

  constructor(options: InstanceThreadsOptions) {
    const { config, groups, firstInstance, logger, onRestart, onUnrecoverable, traces = false } = options;
    let count = 0;
    this.#supervisors = groups.flatMap((group) =>
      Array.from({ length: group.count }, (_, member) => {
        const index = count++;
        const onReady = (thread: ThreadedInstance) => {
          if (this.#starting === undefined) onRestart(thread);
          else this.#starting[index] = thread;
        };
        const instance = firstInstance + index;
        return new InstanceSupervisor({ group, member, instance, config, logger, onReady, onUnrecoverable, traces });
      }),
    );
  }

  /** Resolves when all threads are set up. Rejects with the first reason, when no thread is left. */
  async start(): Promise<readonly ThreadedInstance[]> {
    try {
      await Promise.all(this.#supervisors.map((supervisor) => supervisor.start()));
      return this.#started();
    } catch (error) {
      // A thread that failed interrupts the threads that still start.
      await this.stop();
      for (const { port } of this.#started()) port.close();
      throw error;
    }
  }

  /** Ends the first start and returns its threads. */
  #started(): readonly ThreadedInstance[] {
    const threads = (this.#starting ?? []).filter((thread) => thread !== undefined);
    this.#starting = undefined;
    return threads;
  }

  /** Returns the living threads, with ports to a new server. */
  reconnect(): readonly ThreadedInstance[] {
    return this.#supervisors.flatMap((supervisor) => supervisor.reconnect() ?? []);
  }

  /** Runs every thread's `teardown` and ends it. */
  async stop(): Promise<void> {
    await Promise.all(this.#supervisors.map((supervisor) => supervisor.stop()));
  }
}
