// The threads of a bound model's instance groups, kept alive together.

import type { MessagePort } from 'node:worker_threads';

import type { TritonError } from '../errors.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import type { InstanceGroup } from '../model/instance-group.js';
import { InstanceSupervisor, type SupervisorOptions } from './instance-supervisor.js';

export interface InstanceThreadsOptions {
  readonly config: CompleteModelConfig;
  readonly groups: readonly InstanceGroup[];
  /** Number of the first thread's instance within the model. */
  readonly firstInstance: number;
  readonly logger: SupervisorOptions['logger'];
  /** A thread was started again; batches for it go into the port. */
  readonly onRestart: (port: MessagePort) => void;
  readonly onUnrecoverable: (error: TritonError) => void;
  /** Whether requests may be traced. Default false. */
  readonly traces?: boolean;
}

export class InstanceThreads {
  readonly #supervisors: readonly InstanceSupervisor[];
  /** The ports of the first start, in the order of the instances; later ones are told to `onRestart`. */
  #starting: (MessagePort | undefined)[] | undefined = [];

  constructor(options: InstanceThreadsOptions) {
    const { config, groups, firstInstance, logger, onRestart, onUnrecoverable, traces = false } = options;
    let thread = 0;
    this.#supervisors = groups.flatMap((group) =>
      Array.from({ length: group.count }, (_, member) => {
        const index = thread++;
        const onPort = (port: MessagePort) => {
          if (this.#starting === undefined) onRestart(port);
          else this.#starting[index] = port;
        };
        const instance = firstInstance + index;
        return new InstanceSupervisor({ group, member, instance, config, logger, onPort, onUnrecoverable, traces });
      }),
    );
  }

  /** How many of the threads are there and set up. */
  get living(): number {
    return this.#supervisors.filter(({ lives }) => lives).length;
  }

  /** Resolves with a port per thread when all are set up. Rejects with the first reason; no thread is left then. */
  async start(): Promise<readonly MessagePort[]> {
    const started = await Promise.allSettled(this.#supervisors.map((supervisor) => supervisor.start()));
    const ports = (this.#starting ?? []).filter((port) => port !== undefined);
    this.#starting = undefined;
    const failed = started.find((result) => result.status === 'rejected');
    if (failed === undefined) return ports;
    await this.stop();
    for (const port of ports) port.close();
    throw failed.reason;
  }

  /** Runs every thread's `teardown` and ends it. */
  async stop(): Promise<void> {
    await Promise.all(this.#supervisors.map((supervisor) => supervisor.stop()));
  }
}
