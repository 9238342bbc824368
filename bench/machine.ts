// The machine that a measurement ran on, and which cores the two sides of it may use.

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg, totalmem } from 'node:os';

export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryBytes: number;
  readonly platform: string;
  readonly node: string;
}

export interface Pinning {
  /** Lists of cores as `taskset -c` takes them; undefined where processes are not pinned. */
  readonly server: string | undefined;
  readonly client: string | undefined;
  readonly note: string;
}

export function describeMachine(): Machine {
  return {
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    memoryBytes: totalmem(),
    platform: `${process.platform} ${process.arch}`,
    node: process.version,
  };
}

export function loadAverage(): readonly number[] {
  return loadavg().map((value) => Math.round(value * 100) / 100);
}

/** The cores of a list such as `0-2,5`. */
function parseCoreList(list: string): readonly number[] {
  return list
    .trim()
    .split(',')
    .flatMap((part) => {
      const match = /^(\d+)(?:-(\d+))?$/.exec(part);
      if (!match) throw new Error(`expected a list of cores such as 0-2,5, got '${list.trim()}'`);
      const first = Number(match[1]);
      const last = Number(match[2] ?? match[1]);
      return Array.from({ length: Math.max(last - first + 1, 0) }, (_, i) => first + i);
    });
}

function allowedCores(): readonly number[] {
  try {
    const status = readFileSync('/proc/self/status', 'latin1');
    return parseCoreList(/^Cpus_allowed_list:\s*(\S+)/m.exec(status)?.[1] ?? '');
  } catch {
    return []; // not Linux
  }
}

/** Server on the first core that this process may use, load generator on the last, unless told otherwise. */
export function choosePinning(wanted: { readonly server?: string; readonly client?: string }): Pinning {
  const unpinned = (reason: string): Pinning => {
    if (wanted.server ?? wanted.client) throw new Error(`cannot pin processes: ${reason}`);
    return { server: undefined, client: undefined, note: `not pinned (${reason}); server and load share all cores` };
  };
  const cores = allowedCores();
  if (spawnSync('taskset', ['--version']).status !== 0) return unpinned('no taskset');
  if (cores.length < 2) return unpinned('fewer than two cores');
  const server = wanted.server ?? String(cores[0]);
  const client = wanted.client ?? String(cores.at(-1));
  return { server, client, note: `each server pinned to core ${server}, load generator to core ${client}` };
}
