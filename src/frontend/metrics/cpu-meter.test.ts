import { describe, expect, it } from 'vitest';

import { CpuMeter, parseCpuTime, parseMemory } from './cpu-meter.js';

const MEMINFO = 'MemTotal:       16000 kB\nMemFree:         1000 kB\nMemAvailable:    4000 kB\nBuffers: 12 kB\n';

function stat(busy: number, idle: number): string {
  return `cpu  ${busy} 0 0 ${idle} 0 0 0 0 0 0\ncpu0 1 2 3 4 5 6 7 8 9 10\nintr 5\n`;
}

/** A machine whose figures a test sets. */
function machine(intervalMs = 2000) {
  const state = { stat: stat(0, 0), meminfo: MEMINFO, reads: 0 };
  const meter = new CpuMeter(intervalMs, () => {
    state.reads++;
    return state;
  });
  return { state, meter };
}

describe('the meter of processors and memory', () => {
  it('tells the utilisation since the reading before; the first one only begins', () => {
    const { state, meter } = machine();
    state.stat = stat(1000, 1000);
    expect(meter.usage(0)?.utilization).toBe(0);
    state.stat = stat(1300, 1700);
    expect(meter.usage(2000)?.utilization).toBe(0.3);
    state.stat = stat(1400, 1700);
    expect(meter.usage(4000)?.utilization).toBe(1);
  });

  it('reads no more often than its interval', () => {
    const { state, meter } = machine(2000);
    for (const now of [0, 500, 1999, 2000, 2001]) meter.usage(now);
    expect(state.reads).toBe(2);
  });

  it('stays between 0 and 1 when counters stand still or idle time runs backwards', () => {
    const { state, meter } = machine();
    state.stat = stat(100, 100);
    meter.usage(0);
    expect(meter.usage(2000)?.utilization).toBe(0);
    state.stat = stat(200, 90);
    expect(meter.usage(4000)?.utilization).toBe(1);
  });

  it('tells the memory that is not available as used', () => {
    expect(machine().meter.usage(0)).toEqual({
      utilization: 0,
      memoryTotalBytes: 16_000 * 1024,
      memoryUsedBytes: 12_000 * 1024,
    });
  });

  it('tells nothing where there is no /proc, or not what is expected in it', () => {
    const absent = new CpuMeter(1, () => {
      throw new Error('ENOENT');
    });
    expect(absent.usage(0)).toBeUndefined();
    expect(new CpuMeter(1, () => ({ stat: 'nothing', meminfo: MEMINFO })).usage(0)).toBeUndefined();
    expect(new CpuMeter(1, () => ({ stat: stat(1, 1), meminfo: 'nothing' })).usage(0)).toBeUndefined();
  });

  it.runIf(process.platform === 'linux')('reads the /proc of Linux', () => {
    const usage = new CpuMeter(1).usage(0);
    expect(usage!.memoryTotalBytes).toBeGreaterThan(usage!.memoryUsedBytes);
    expect(usage!.memoryUsedBytes).toBeGreaterThan(0);
  });
});

describe('the processor times', () => {
  it('count waiting for input and output as idle, and what guests had once', () => {
    expect(parseCpuTime('cpu  1 2 3 40 5 6 7 8 100 200\n')).toEqual({ total: 72, idle: 45 });
  });

  it('are unknown for other text', () => {
    expect([parseCpuTime(''), parseMemory('MemTotal: 5 kB\n')]).toEqual([undefined, undefined]);
  });
});
