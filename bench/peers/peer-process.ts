// A server that is not ours, as a measurement sees it: started from a command line, pinned like ours, its CPU time and memory
// those of all its processes.

import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';

import type { Usage } from '../control-channel.js';
import type { MeasuredProcess } from '../interleaved.js';
import { ProcessTree } from './process-tree.js';

export interface PeerCommand {
  readonly program: string;
  readonly parameters: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly folder?: string;
  /** Answers 200 when the server is ready. */
  readonly readyUrl: string;
}

const READY_SECONDS = 90;
const KEPT_OUTPUT = 4000;

export class PeerProcess implements MeasuredProcess {
  readonly #tree: ProcessTree;
  /** From the start until it was ready. */
  readonly readySeconds: number;

  private constructor(tree: ProcessTree, readySeconds: number) {
    this.#tree = tree;
    this.readySeconds = readySeconds;
  }

  /** Throws what it printed last when it does not become ready. */
  static async start(command: PeerCommand, cpus: string | undefined): Promise<PeerProcess> {
    const { program, parameters, environment, folder } = command;
    const [first, ...rest] = cpus === undefined ? [program] : ['taskset', '-c', cpus, program];
    const startedAt = performance.now();
    const child = spawn(first!, [...rest, ...parameters], {
      cwd: folder,
      env: { ...process.env, ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    const keep = (chunk: Buffer): void => void (output = (output + chunk.toString()).slice(-KEPT_OUTPUT));
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    child.on('error', (error) => (output += error.message));
    const tree = new ProcessTree(child.pid ?? -1);
    try {
      await becomesReady(child, command.readyUrl);
    } catch (error) {
      await tree.end();
      const last = output.trim().split('\n').slice(-3).join(' | ');
      throw new Error(`did not start: ${(error as Error).message}: ${last}`, { cause: error });
    }
    return new PeerProcess(tree, (performance.now() - startedAt) / 1000);
  }

  usage(): Promise<Usage> {
    return Promise.resolve({ ...this.#tree.usage(), heapUsed: 0, at: performance.now() });
  }

  load(): Promise<unknown> {
    return Promise.reject(new Error('this process takes no orders'));
  }

  stop(): Promise<void> {
    return this.#tree.end();
  }
}

async function becomesReady(child: ChildProcess, url: string): Promise<void> {
  const deadline = performance.now() + READY_SECONDS * 1000;
  while (performance.now() < deadline) {
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) {
      throw new Error(`it ended with ${child.signalCode ?? child.exitCode ?? 'no process'}`);
    }
    const answer = await fetch(url, { signal: AbortSignal.timeout(2000) }).catch(() => undefined);
    await answer?.arrayBuffer().catch(() => undefined);
    if (answer?.status === 200) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`not ready after ${READY_SECONDS} s`);
}

/** Ports that nobody had a moment ago: other servers cannot be told to choose. */
export async function freePorts(count: number): Promise<readonly number[]> {
  const servers = Array.from({ length: count }, () => createServer());
  const ports = servers.map(
    (server) =>
      new Promise<number>((resolve, reject) => {
        server.once('error', reject);
        server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
      }),
  );
  const all = await Promise.all(ports);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return all;
}
