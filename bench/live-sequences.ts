// Many live sequences on one model: what each of them keeps in memory, how late idle ones are ended, and what an ordinary request
// beside them takes. The server runs in this process, without ports.

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import { batch, Triton } from 'tstriton';
import { ModelClient } from 'tstriton/client';
import { inProcess, type RunningInProcess } from 'tstriton/testing';

import { median } from './statistics.js';

export interface LiveSequencesReport {
  readonly sequences: number;
  /** Of memory that lives after a collection, with an object of one number as state. */
  readonly bytesPerSequence: number;
  /** From the end of the idle time to the end of the state, in milliseconds, on average and at most. */
  readonly lateMs: { readonly average: number; readonly most: number };
  /** How late a bare timer of this process is meanwhile, on average: what the machine itself costs. */
  readonly timerLateMs: number;
  /** Processor time of an ordinary model's requests, one after the other, in microseconds each. */
  readonly others: { readonly alone: number; readonly beside: number };
}

const INTEGER = { dtype: 'int32', shape: [1] } as const;
const IN_FLIGHT = 256;
const ASKED = 2000;
const ROUNDS = 9;
const TIMER_MS = 20;

interface Kept {
  /** When it ran last. */
  at: number;
}

export async function measureLiveSequences(sequences: number): Promise<LiveSequencesReport> {
  const idleNever = 3600;
  const { bytesPerSequence, others, fillSeconds } = await measureMemory(sequences, idleNever);
  // All of them live before the first expires.
  const expiry = await measureExpiry(sequences, 1 + 3 * fillSeconds);
  return { sequences, bytesPerSequence, ...expiry, others };
}

async function measureMemory(sequences: number, idleSeconds: number) {
  await using server = await start(sequences, idleSeconds, () => undefined);
  // What is compiled, pooled and grown once does not count.
  await fill(server, Math.min(2000, sequences), 'first', true);
  await fill(server, 20, 'warm', true);
  await askOthers(server);
  const alone = await askOthers(server);
  const before = liveBytes();
  const begunAt = performance.now();
  await fill(server, sequences, 'live');
  const fillSeconds = (performance.now() - begunAt) / 1000;
  const bytesPerSequence = (liveBytes() - before) / sequences;
  const beside = await askOthers(server);
  return { bytesPerSequence, others: { alone, beside }, fillSeconds };
}

async function measureExpiry(
  sequences: number,
  idleSeconds: number,
): Promise<Pick<LiveSequencesReport, 'lateMs' | 'timerLateMs'>> {
  let ended = 0;
  let sum = 0;
  let most = 0;
  let onAll!: () => void;
  const all = new Promise<void>((resolve) => (onAll = resolve));
  await using server = await start(sequences, idleSeconds, ({ at }) => {
    const late = performance.now() - at - idleSeconds * 1000;
    sum += late;
    most = Math.max(most, late);
    if (++ended === sequences) onAll();
  });
  await fill(server, sequences, 'live');
  const timerLateMs = await timerLateness(() => ended < sequences);
  await all;
  return { lateMs: { average: sum / sequences, most }, timerLateMs };
}

async function timerLateness(lasts: () => boolean): Promise<number> {
  let sum = 0;
  let count = 0;
  do {
    const begunAt = performance.now();
    await new Promise((resolve) => setTimeout(resolve, TIMER_MS));
    sum += performance.now() - begunAt - TIMER_MS;
    count++;
  } while (lasts());
  return sum / count;
}

function start(sequences: number, idleSeconds: number, onEnd: (kept: Kept) => void): Promise<RunningInProcess> {
  const triton = new Triton({ exitTimeoutSecs: 0, logInfo: false, logWarning: false });
  triton.bind({
    modelName: 'Live',
    inputs: { x: INTEGER },
    outputs: { y: INTEGER },
    config: {
      maxBatchSize: 64,
      sequenceBatching: {
        strategy: 'oldest',
        maxCandidateSequences: sequences,
        maxSequenceIdleMicroseconds: Math.round(idleSeconds * 1e6),
        state: (): Kept => ({ at: 0 }),
        onEnd,
      },
    },
    inferFunc: batch(({ x }, { sequences: rows }) => {
      const at = performance.now();
      for (const { state } of rows as readonly { readonly state: Kept }[]) state.at = at;
      return { y: x };
    }),
  });
  triton.bind({
    modelName: 'Others',
    inputs: { x: INTEGER },
    outputs: { y: INTEGER },
    inferFunc: batch(({ x }) => ({ y: x })),
  });
  return inProcess(triton);
}

/** Starts sequences, and ends them at once where `end` says so. */
async function fill(server: RunningInProcess, count: number, prefix: string, end = false): Promise<void> {
  await using client = new ModelClient(server, 'Live');
  let next = 0;
  const begin = async () => {
    for (let i = next++; i < count; i = next++) {
      const sequence = { id: `${prefix}-${String(i).padStart(9, '0')}`, start: true, end };
      const { y } = await client.inferSample({ x: Int32Array.of(i) }, { sequence });
      if ((y as { readonly data: Int32Array }).data[0] !== i) throw new Error(`sequence ${i} got another one's answer`);
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, begin));
}

/** The processor's time counts: a busy machine changes it little. */
async function askOthers(server: RunningInProcess): Promise<number> {
  await using client = new ModelClient(server, 'Others');
  const took: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const before = process.cpuUsage();
    for (let i = 0; i < ASKED; i++) await client.inferSample({ x: Int32Array.of(round * ASKED + i) });
    const { user, system } = process.cpuUsage(before);
    took.push((user + system) / ASKED);
  }
  return median(took);
}

function liveBytes(): number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  // Finalizers of a first collection free what a second one finds.
  collect();
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
