// Measures several servers against the same load in turns, A B C A B C …, so that whatever else the machine does falls
// on all of them alike, and figures can be compared round by round.

import type { Usage } from './control-channel.js';
import type { LoadTarget } from './load/load-run.js';
import type { LoadReport } from './load/load-window.js';
import { loadAverage } from './machine.js';

/** What a measurement needs of a process, whoever started it. */
export interface MeasuredProcess {
  usage(): Promise<Usage>;
  /** Of one that generates load, its own or another's. */
  load(order: unknown, notify: (notice: string) => void): Promise<unknown>;
}

export interface Participant {
  readonly name: string;
  readonly server: MeasuredProcess;
  /** Undefined: the server is its own load, a loop without a wire. */
  readonly target: LoadTarget | undefined;
}

export interface Timing {
  readonly rounds: number;
  readonly seconds: number;
  readonly warmUpSeconds: number;
}

/** One round of one server. Latencies and CPU in microseconds, busy as a share of one core. */
export interface RoundSample {
  readonly round: number;
  readonly requests: number;
  readonly seconds: number;
  readonly requestsPerSecond: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly p999: number;
  readonly max: number;
  readonly serverCpuPerRequest: number;
  readonly serverBusy: number;
  readonly clientCpuPerRequest: number;
  readonly clientBusy: number;
  readonly serverRss: number;
  readonly errors: number;
  readonly firstError?: string;
  readonly loadAverage: readonly number[];
}

const LEAD_IN_SECONDS = 0.15;

async function measureOnce(
  participant: Participant,
  generator: MeasuredProcess,
  timing: { readonly seconds: number; readonly round: number },
): Promise<RoundSample> {
  const { server, target } = participant;
  const order = { target, leadInSeconds: LEAD_IN_SECONDS, seconds: timing.seconds };
  const edges: Promise<Usage>[] = [];
  const loading = target === undefined ? server : generator;
  const report = (await loading.load(order, () => edges.push(server.usage()))) as LoadReport;
  const [begin, end] = await Promise.all(edges);
  if (!begin || !end) throw new Error('this is a bug: the generator did not tell its window');
  const requestsPerSecond = report.requests / report.seconds;
  // A server's answer about its usage may come late when it is busy. It carries its own time, so the CPU that it spent
  // per second is exact, whatever the delay.
  const serverBusy = (end.cpu - begin.cpu) / ((end.at - begin.at) * 1000);
  return {
    round: timing.round,
    requests: report.requests,
    seconds: report.seconds,
    requestsPerSecond,
    p50: report.p50,
    p90: report.p90,
    p99: report.p99,
    p999: report.p999,
    max: report.max,
    serverCpuPerRequest: (serverBusy * 1e6) / requestsPerSecond,
    serverBusy,
    clientCpuPerRequest: report.generatorCpu / report.requests,
    clientBusy: report.generatorCpu / (report.seconds * 1e6),
    serverRss: end.rss,
    errors: report.errors,
    ...(report.firstError === undefined ? {} : { firstError: report.firstError }),
    loadAverage: loadAverage(),
  };
}

/** The samples of each participant, in the order of the participants. */
export async function measureInterleaved(
  participants: readonly Participant[],
  generator: MeasuredProcess,
  timing: Timing,
): Promise<readonly (readonly RoundSample[])[]> {
  const samples: RoundSample[][] = participants.map(() => []);
  for (const participant of participants) {
    await measureOnce(participant, generator, { seconds: timing.warmUpSeconds, round: -1 });
  }
  for (let round = 0; round < timing.rounds; round++) {
    for (const [i, participant] of participants.entries()) {
      samples[i]!.push(await measureOnce(participant, generator, { seconds: timing.seconds, round }));
    }
  }
  return samples;
}
