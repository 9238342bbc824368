// The machine's processors and memory as Triton shows them. They are read from /proc when someone asks and the last reading is
// old enough. Utilisation is that of the time between two readings.

import { readFileSync } from 'node:fs';

export interface CpuUsage {
  /** Utilisation of all processors together, 0 … 1, since the last reading; 0 at first. */
  readonly utilization: number;
  readonly memoryTotalBytes: number;
  readonly memoryUsedBytes: number;
}

/** Processor time since the machine's start, in the kernel's unit. */
export interface CpuTime {
  readonly total: number;
  readonly idle: number;
}

/** The content of /proc/stat and /proc/meminfo. */
export interface ProcFiles {
  readonly stat: string;
  readonly meminfo: string;
}

export class CpuMeter {
  readonly #intervalMs: number;
  readonly #read: () => ProcFiles;
  #time: CpuTime | undefined;
  #usage: CpuUsage | undefined;
  #readAt = -Infinity;

  constructor(intervalMs: number, read: () => ProcFiles = readProc) {
    this.#intervalMs = intervalMs;
    this.#read = read;
  }

  /** `now` is in milliseconds of a monotonic clock. Returns undefined on machines without /proc. */
  usage(now: number): CpuUsage | undefined {
    if (now - this.#readAt < this.#intervalMs) return this.#usage;
    this.#readAt = now;
    this.#usage = this.#next();
    return this.#usage;
  }

  #next(): CpuUsage | undefined {
    let files: ProcFiles;
    try {
      files = this.#read();
    } catch {
      return undefined;
    }
    const time = parseCpuTime(files.stat);
    const memory = parseMemory(files.meminfo);
    if (time === undefined || memory === undefined) return undefined;
    const before = this.#time ?? time;
    this.#time = time;
    const total = time.total - before.total;
    const busy = total - (time.idle - before.idle);
    // The kernel's idle time can run backwards a little.
    const utilization = total <= 0 ? 0 : Math.min(1, Math.max(0, busy / total));
    return { utilization, ...memory };
  }
}

function readProc(): ProcFiles {
  return { stat: readFileSync('/proc/stat', 'utf8'), meminfo: readFileSync('/proc/meminfo', 'utf8') };
}

/** Reads the line for all processors: user, nice, system, idle, iowait, irq, softirq, steal. User and nice include the guests' time. */
export function parseCpuTime(stat: string): CpuTime | undefined {
  const line = /^cpu +((?:\d+ ?)+)$/m.exec(stat)?.[1];
  if (line === undefined) return undefined;
  const times = line.trim().split(' ').slice(0, 8).map(Number);
  return { total: times.reduce((sum, time) => sum + time, 0), idle: (times[3] ?? 0) + (times[4] ?? 0) };
}

export function parseMemory(meminfo: string): Pick<CpuUsage, 'memoryTotalBytes' | 'memoryUsedBytes'> | undefined {
  const total = kilobytes(meminfo, 'MemTotal');
  const available = kilobytes(meminfo, 'MemAvailable');
  if (total === undefined || available === undefined) return undefined;
  return { memoryTotalBytes: total * 1024, memoryUsedBytes: (total - available) * 1024 };
}

function kilobytes(meminfo: string, name: string): number | undefined {
  const value = new RegExp(`^${name}: +(\\d+) kB$`, 'm').exec(meminfo)?.[1];
  return value === undefined ? undefined : Number(value);
}
