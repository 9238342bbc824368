// The memory of another process of this machine, as Linux tells it.

import { readFileSync, writeFileSync } from 'node:fs';

export interface ProcessMemory {
  /** Bytes now, and the most since the process began or {@link forgetPeak}. NaN where the system does not tell. */
  readonly resident: number;
  readonly peak: number;
}

export function processMemory(pid: number): ProcessMemory {
  let status = '';
  try {
    status = readFileSync(`/proc/${pid}/status`, 'utf8');
  } catch {
    // not Linux
  }
  const bytes = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) * 1024;
  return { resident: bytes('VmRSS'), peak: bytes('VmHWM') };
}

export function forgetPeak(pid: number): void {
  try {
    writeFileSync(`/proc/${pid}/clear_refs`, '5');
  } catch {
    // not Linux
  }
}
