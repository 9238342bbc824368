// A process that takes part in a measurement, seen from the process that runs the suite: a server or the load generator,
// forked, pinned to given cores where the system can, and asked over the control channel.

import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';

import type { ControlReply, ControlRequest, Usage } from './control-channel.js';

export interface ProcessOptions {
  /** As `taskset -c` wants them; undefined leaves the process to the scheduler. */
  readonly cpus: string | undefined;
  /** How many files it may have open. Default: as many as this process. */
  readonly files?: number;
  readonly arguments?: readonly string[];
  /** Beside the environment of this process. */
  readonly environment?: Readonly<Record<string, string>>;
  /** The file to which the process writes its number before anything else, as a control group wants it. */
  readonly group?: string;
}

interface Pending {
  readonly resolve: (answer: unknown) => void;
  readonly reject: (error: Error) => void;
  readonly notify: ((notice: string) => void) | undefined;
}

const STOP_SECONDS = 10;

export class BenchProcess {
  readonly ports: Readonly<Record<string, number>>;
  readonly #child: ChildProcess;
  readonly #name: string;
  readonly #pending = new Map<number, Pending>();
  #nextId = 0;

  private constructor(child: ChildProcess, name: string, ports: Readonly<Record<string, number>>) {
    this.#child = child;
    this.#name = name;
    this.ports = ports;
    child.on('message', (message) => this.#receive(message as ControlReply));
    child.once('exit', (code, signal) =>
      this.#ended(new Error(`${name} ended early: ${signal ?? `exit code ${code}`}`)),
    );
  }

  /** Starts a compiled module of `bench/` and waits until it has told its ports. */
  static start(module: URL, options: ProcessOptions): Promise<BenchProcess> {
    const name = module.pathname.slice(module.pathname.lastIndexOf('/') + 1);
    const { cpus, files, group, environment } = options;
    const pinned = [...(cpus === undefined ? [] : ['taskset', '-c', cpus]), process.execPath];
    const limits = [
      ...(files === undefined ? [] : [`ulimit -n ${files}`]),
      ...(group === undefined ? [] : [`echo $$ > '${group}'`]),
    ];
    // The shell's first argument is the module.
    const limited = ['sh', '-c', [...limits, `exec ${pinned.join(' ')} "$0" "$@"`].join(' && ')];
    const [execPath, ...execArgv] = limits.length === 0 ? pinned : limited;
    const child = fork(module, [...(options.arguments ?? [])], {
      ...(execPath === undefined ? {} : { execPath }),
      execArgv,
      ...(environment === undefined ? {} : { env: { ...process.env, ...environment } }),
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      serialization: 'advanced',
    });
    return new Promise((resolve, reject) => {
      child.once('error', reject);
      const onExit = (code: number | null): void => reject(new Error(`${name} did not start: exit code ${code}`));
      child.once('exit', onExit);
      child.once('message', (message) => {
        const first = message as ControlReply;
        child.off('exit', onExit);
        if (first.kind === 'ports') resolve(new BenchProcess(child, name, first.ports));
        else reject(new Error(`${name} began with ${first.kind} instead of its ports`));
      });
    });
  }

  /** Of the process itself, as taskset becomes what it starts. */
  get pid(): number {
    if (this.#child.pid === undefined) throw new Error(`${this.#name} has not started`);
    return this.#child.pid;
  }

  port(name: string): number {
    const port = this.ports[name];
    if (port === undefined) throw new Error(`${this.#name} has no ${name}, only ${Object.keys(this.ports).join(', ')}`);
    return port;
  }

  usage(): Promise<Usage> {
    return this.#ask({ kind: 'usage' }) as Promise<Usage>;
  }

  /** Only of a process that takes orders, as the load generator does. */
  load(order: unknown, notify: (notice: string) => void): Promise<unknown> {
    return this.#ask({ kind: 'load', argument: order }, notify);
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = new Promise((resolve) => this.#child.once('exit', resolve));
    const timer = setTimeout(() => {
      console.error(`${this.#name} was still running ${STOP_SECONDS} s after it was told to stop, and was killed`);
      this.#child.kill('SIGKILL');
    }, STOP_SECONDS * 1000);
    // A process that dies of being stopped has stopped.
    await this.#ask({ kind: 'stop' }).catch(() => undefined);
    await exited;
    clearTimeout(timer);
  }

  #ask(request: Omit<ControlRequest, 'id'>, notify?: (notice: string) => void): Promise<unknown> {
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve, reject, notify });
      this.#child.send({ ...request, id }, (error) => {
        if (error) reject(error);
      });
    });
  }

  #receive(reply: ControlReply): void {
    if (reply.kind === 'ports') return;
    const pending = this.#pending.get(reply.id);
    if (!pending) return;
    if (reply.kind === 'notice') {
      pending.notify?.(reply.notice);
      return;
    }
    this.#pending.delete(reply.id);
    if (reply.kind === 'answer') pending.resolve(reply.answer);
    else pending.reject(new Error(`${this.#name}: ${reply.message}`));
  }

  #ended(error: Error): void {
    for (const pending of this.#pending.values()) pending.reject(error);
    this.#pending.clear();
  }
}
