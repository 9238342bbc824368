// Keeps one instance's thread alive: starts it and hands its port to the server. When the thread ends unasked, the
// supervisor starts it again: at once the first time, then after a growing pause. A thread that does not end when asked
// is ended by force, unless it has native code. Onnxruntime, for example, takes the whole process with it when its thread
// ends during a computation. A thread with native code ends after its computation.

import { statSync } from 'node:fs';
import { MessageChannel, Worker, type MessagePort } from 'node:worker_threads';

import { TritonError, TritonUnrecoverableError } from '../errors.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import type { InstanceGroup } from '../model/instance-group.js';
import { ownFrames } from '../model/own-frames.js';
import { INTERRUPTION_GRACE } from '../lifecycle/interrupted-load.js';
import { TEARDOWN_GRACE } from '../model/run-setup.js';
import { ServedTimer } from '../pacing/served-timer.js';
import type { ServerLogger } from '../logger.js';
import { Life } from '../lifecycle/lives.js';
import { RestartPauses } from '../lifecycle/restart-pauses.js';
import { runningTsx } from '../host/running-tsx.js';
import { threadFlags } from '../host/thread-flags.js';
import { ownFile } from './own-file.js';
import { receiveFailure } from './sent-error.js';
import type { ThreadCall, ThreadData, ThreadReport } from './thread-messages.js';

/** An instance in a thread of its own, as the server gets it. */
export interface ThreadedInstance {
  /** The instance's number within the model. */
  readonly instance: number;
  /** Takes the instance's batches. */
  readonly port: MessagePort;
  /** Ends the thread for this reason, whatever it does. The supervisor then starts it again. */
  readonly end: (reason: string) => void;
}

export interface SupervisorOptions {
  readonly group: InstanceGroup;
  /** Number of the instance within its group, which chooses its entry of `args`. */
  readonly member: number;
  /** Number of the instance within the model. */
  readonly instance: number;
  readonly config: CompleteModelConfig;
  readonly logger: Pick<ServerLogger, 'error' | 'warn' | 'info' | 'verbose' | 'verboseLevel'>;
  /** Called when the thread is ready, also after each restart. */
  readonly onReady: (thread: ThreadedInstance) => void;
  readonly onUnrecoverable: (error: TritonError) => void;
  /** Whether requests may be traced. */
  readonly traces: boolean;
}

export class InstanceSupervisor {
  readonly #options: SupervisorOptions;
  #worker: Worker | undefined;
  #exited: Promise<void> = Promise.resolve();
  /** Runs until the thread is started again. */
  #pause: NodeJS.Timeout | undefined;
  /** Runs while a thread has time to end. */
  #limit: ServedTimer | undefined;
  readonly #life = new Life('instance', 'starting');
  #stopping: Promise<void> | undefined;
  /** A file with native code that the thread has loaded. */
  #nativeCode: string | undefined;
  /** Why the supervisor ended the thread, if it did. */
  #endedFor: string | undefined;
  readonly #pauses = new RestartPauses();
  /** When the module was changed last before the thread started. */
  #changedAt: number | undefined;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.#changedAt = changedAt(options.group);
  }

  /** Starts the thread. Rejects with the reason, for good, when the module cannot be loaded or its `setup` fails. */
  async start(): Promise<void> {
    this.#options.onReady(await this.#launch());
  }

  /** Gives the living thread a port to a new server. Returns undefined while no thread lives. */
  reconnect(): ThreadedInstance | undefined {
    const worker = this.#worker;
    if (worker === undefined || this.#life.state !== 'living') return undefined;
    const { port1, port2 } = new MessageChannel();
    worker.postMessage({ kind: 'connect', port: port2 } satisfies ThreadCall, [port2]);
    return this.#threaded(worker, port1);
  }

  /** Runs the module's `teardown` and ends the thread. Idempotent. */
  stop(): Promise<void> {
    return (this.#stopping ??= this.#stop());
  }

  async #stop(): Promise<void> {
    const limit = this.#life.state === 'living' ? TEARDOWN_GRACE : INTERRUPTION_GRACE;
    this.#life.on('stopping');
    clearTimeout(this.#pause);
    const worker = this.#worker;
    if (worker === undefined) return;
    worker.postMessage({ kind: 'stop' } satisfies ThreadCall);
    this.#endAfter(limit, worker);
    await this.#exited;
    this.#limit?.clear();
  }

  /**
   * Ends the thread by force when it has not ended within this time. A later call sets another limit. While this thread stood still,
   * the other one may have done so too; but a thread that stands still again and again must not put off the end for ever.
   */
  #endAfter(milliseconds: number, worker: Worker): void {
    this.#limit?.clear();
    this.#limit = new ServedTimer(() => this.#endByForce(worker), milliseconds, { keepsAlive: true, renewals: 1 });
  }

  /** Ends a thread by force. A thread with native code is left to end after its computation. */
  #endByForce(worker: Worker): void {
    if (this.#nativeCode === undefined) return void worker.terminate();
    const { config, logger } = this.#options;
    logger.warn(
      `instance ${this.#options.instance} of model '${config.name}' is not ended by force, because it has loaded ${this.#nativeCode}; it ends when its computation does`,
    );
    worker.postMessage({ kind: 'end' } satisfies ThreadCall);
  }

  #threaded(worker: Worker, port: MessagePort): ThreadedInstance {
    return {
      instance: this.#options.instance,
      port,
      end: (reason) => {
        // Another thread may have taken its place, or a stop may wait for its teardown.
        if (this.#worker !== worker || this.#life.state !== 'living') return;
        this.#life.on('ended');
        this.#endedFor = reason;
        this.#endByForce(worker);
      },
    };
  }

  /** Resolves when the thread is ready. */
  #launch(): Promise<ThreadedInstance> {
    const { group, member, instance, config, logger, traces } = this.#options;
    const { port1, port2 } = new MessageChannel();
    const data: ThreadData = {
      url: group.url,
      tsx: runningTsx(),
      instance,
      args: group.args[member],
      config,
      verboseLevel: logger.verboseLevel,
      traces,
      port: port2,
    };
    return new Promise((resolve, reject) => {
      let worker: Worker;
      try {
        worker = new Worker(threadEntry(), {
          workerData: data,
          transferList: [port2],
          env: environmentOf(group),
          execArgv: threadFlags(group.execArgv),
          resourceLimits: group.resourceLimits,
          name: `${config.name}-${instance}`,
        });
      } catch (error) {
        port1.close();
        this.#life.on('exited');
        throw error;
      }
      this.#worker = worker;
      this.#nativeCode = undefined;
      const startedAt = performance.now();
      let ready = false;
      let cause: TritonError | undefined;
      worker.on('message', (report: ThreadReport) => {
        switch (report.kind) {
          case 'ready':
            this.#life.on('ready');
            ready = true;
            // The setup has come to an end although it was told to stop: the teardown has its own time.
            if (this.#life.state === 'stopping') this.#endAfter(TEARDOWN_GRACE, worker);
            return resolve(this.#threaded(worker, port1));
          case 'native code':
            this.#nativeCode = report.file;
            return;
          case 'failed':
            cause = receiveFailure(report.failure);
            return;
          case 'unrecoverable':
            return this.#options.onUnrecoverable(receiveFailure(report.failure));
          case 'log':
            return typeof report.level === 'number'
              ? logger.verbose(report.level, report.message)
              : logger[report.level](report.message);
        }
      });
      worker.on('error', (error) => (cause ??= TritonError.from(error)));
      this.#exited = new Promise((exited) =>
        worker.once('exit', (code) => {
          this.#worker = undefined;
          this.#life.on('exited');
          exited();
          const thread = ready ? 'its thread' : `the thread of instance ${instance} of model '${config.name}'`;
          const error = cause ?? new TritonError('UNAVAILABLE', this.#endedFor ?? `${thread} ended with code ${code}`);
          this.#endedFor = undefined;
          if (ready) this.#died(error, performance.now() - startedAt);
          else {
            port1.close();
            reject(error);
          }
        }),
      );
    });
  }

  #died(error: TritonError, lived: number): void {
    if (this.#life.state !== 'resting') return;
    const { config, instance, logger } = this.#options;
    logger.error(
      `instance ${instance} of model '${config.name}' ended: ${error.message}; starting it again${ownFrames(error)}`,
    );
    this.#restart(this.#pauses.next(lived));
  }

  /** A thread that starts again can only import the module as it is now. */
  #tellOfChange(): void {
    const { config, group, instance, logger } = this.#options;
    const before = this.#changedAt;
    this.#changedAt = changedAt(group);
    if (before === this.#changedAt) return;
    const { name, version } = config;
    logger.warn(
      `instance ${instance} of model '${name}' version ${version} starts again with a module that has changed since the model was loaded: ${group.url}`,
    );
  }

  #restart(pause: number): void {
    this.#pause = setTimeout(() => {
      this.#life.on('due');
      this.#tellOfChange();
      this.#launch().then(this.#options.onReady, (error: unknown) => {
        if (this.#life.state !== 'resting') return;
        if (TritonUnrecoverableError.is(error)) return this.#options.onUnrecoverable(error);
        const { config, instance, logger } = this.#options;
        const pause = this.#pauses.next(0);
        logger.error(
          `instance ${instance} of model '${config.name}' did not start again: ${TritonError.from(error).message}; next try in ${pause / 1000} s`,
        );
        this.#restart(pause);
      });
    }, pause);
  }
}

/** When its module was changed last; undefined where that cannot be known. */
function changedAt({ url }: InstanceGroup): number | undefined {
  try {
    return statSync(new URL(url)).mtimeMs;
  } catch {
    return undefined;
  }
}

function threadEntry(): URL {
  const entry = ownFile(() => new URL('./instance-thread.js', import.meta.url));
  if (entry !== undefined) return entry;
  throw new TritonError(
    'UNSUPPORTED',
    'the entry of instance threads was not found, as happens in a bundle: keep tstriton out of the bundle',
  );
}

/** Undefined: Node copies that of the process. Given one, Node 20 before 20.18 keeps the process's flags from the thread. */
function environmentOf({ env }: InstanceGroup): NodeJS.ProcessEnv | undefined {
  return Object.keys(env).length === 0 ? undefined : { ...process.env, ...env };
}
