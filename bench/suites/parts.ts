// The parts of a request, each alone, beside what each may cost: CPU time per request of the identity workload with 16 requests
// at a time. Parts between socket and callable run in a process of their own without a socket; the transport runs with an echo
// or a constant answer behind it.

import { askedGrpc, askedHttp } from '../asked-targets.js';
import type { BenchProcess } from '../bench-process.js';
import { chosen } from '../chosen.js';
import { errorsOf, formatComparison } from '../comparison.js';
import type { Comparison } from '../comparison.js';
import { FLOOR_BINARY_PATH } from '../floor/floor-paths.js';
import { formatGoals, type Goal } from '../goals.js';
import { binaryRequests, checkBinaryAnswer, checkEcho, grpcRequests } from '../identity-wire.js';
import { measureInterleaved } from '../interleaved.js';
import type { Participant } from '../interleaved.js';
import { StartedProcesses } from '../started-processes.js';
import { median } from '../statistics.js';
import type { SuiteOptions, SuiteResult } from '../suite.js';
import { formatFigure, formatTable } from '../table.js';

const AT_ONCE = 16;

const ROWS = ['socket', 'codec', 'engine', 'callable', 'hop'] as const;

interface Budget {
  readonly row: (typeof ROWS)[number];
  readonly title: string;
  /** Microseconds. */
  readonly budget: number;
  /** What is measured, and what of it is another part. */
  readonly part: string;
  readonly without?: string;
}

/** Parts that are alike for both wires are measured once. */
const BUDGETS: readonly Budget[] = [
  { row: 'socket', title: 'gRPC: socket, frames, headers, flow control', budget: 4, part: 'socket-grpc' },
  { row: 'socket', title: 'HTTP: socket, head, body', budget: 7, part: 'socket-http' },
  { row: 'codec', title: 'gRPC: decode, encode', budget: 2, part: 'codec-grpc' },
  { row: 'codec', title: 'HTTP binary: decode, encode', budget: 3, part: 'codec-http' },
  { row: 'engine', title: 'engine: find, validate, queue, decide, statistics', budget: 3, part: 'engine' },
  { row: 'callable', title: "callable's side, batches of one", budget: 2, part: 'callable' },
  { row: 'callable', title: `callable's side, a batch of ${AT_ONCE}`, budget: 2, part: 'callable-batch' },
  { row: 'hop', title: `hop of threads, ${AT_ONCE} batches of one`, budget: 3, part: 'hop', without: 'callable' },
  {
    row: 'hop',
    title: `hop of threads, a batch of ${AT_ONCE}`,
    budget: 3,
    part: 'hop-batch',
    without: 'callable-batch',
  },
];

export async function runParts(options: SuiteOptions): Promise<SuiteResult> {
  const rows = chosen(ROWS, options.only, '--only');
  const budgets = BUDGETS.filter(({ row }) => rows.includes(row));
  const samples = new Map<string, readonly number[]>();
  const comparisons: Comparison[] = [];
  if (rows.includes('socket')) {
    comparisons.push(...(await measureSockets(options)));
    for (const { id, measured } of comparisons) {
      samples.set(
        id,
        measured[0]!.samples.map(({ serverCpuPerRequest }) => serverCpuPerRequest),
      );
    }
  }
  const parts = new Set(budgets.flatMap(({ part, without }) => (without === undefined ? [part] : [part, without])));
  for (const [part, costs] of await measureAlone(
    [...parts].filter((part) => !part.startsWith('socket')),
    options,
  )) {
    samples.set(part, costs);
  }
  const measured = budgets.map((budget) => ({ ...budget, costs: costsOf(budget, samples) }));
  options.print(`${formatParts(measured)}\n`);
  for (const comparison of comparisons) options.print(`${formatComparison(comparison)}\n`);
  const goals = measured
    .filter(({ costs }) => !isLost(costs))
    .map(({ title, budget, costs }): Goal => {
      return { id: 'part', what: `${title}: us of CPU`, got: median(costs), bound: 'at most', target: budget };
    });
  options.print(formatGoals(goals));
  const errors = comparisons.reduce((sum, one) => sum + errorsOf(one), 0);
  return { comparisons, goals, errors, figures: { atOnce: AT_ONCE, parts: Object.fromEntries(samples) } };
}

interface MeasuredPart extends Budget {
  /** Microseconds, of each round. */
  readonly costs: readonly number[];
}

/** Round by round: both were measured beside each other. */
function costsOf({ part, without }: Budget, samples: ReadonlyMap<string, readonly number[]>): readonly number[] {
  const costs = samples.get(part)!;
  const other = without === undefined ? undefined : samples.get(without)!;
  return costs.map((cost, i) => cost - (other?.[i] ?? 0));
}

/** What is left of a difference may be less than what the machine's other work adds to either side. */
function isLost(costs: readonly number[]): boolean {
  return median(costs) <= 0;
}

export function formatParts(parts: readonly MeasuredPart[]): string {
  const rows = parts.map(({ title, budget, costs }) => [
    title,
    ...[median(costs), Math.min(...costs), Math.max(...costs), budget].map(formatFigure),
  ]);
  const title = `CPU us per request of each part alone, ${AT_ONCE} requests at a time; hops without the callable's side`;
  const lost = parts
    .filter(({ costs }) => isLost(costs))
    .map(({ title: part }) => `\nnote: '${part}' was lost in the noise of this machine: no figure`);
  return `${title}\n${formatTable(['part', 'median', 'min', 'max', 'may cost'], rows)}${lost.join('')}`;
}

/** A process each, in turns. */
async function measureAlone(
  parts: readonly string[],
  { pinning, timing }: SuiteOptions,
): Promise<ReadonlyMap<string, readonly number[]>> {
  await using processes = new StartedProcesses();
  const running: { readonly part: string; readonly process: BenchProcess; readonly costs: number[] }[] = [];
  for (const part of parts) {
    const process = await processes.start('./servers/part-process.js', pinning.server, part, String(AT_ONCE));
    running.push({ part, process, costs: [] });
  }
  for (let round = -1; round < timing.rounds; round++) {
    for (const { process, costs } of running) {
      const cost = (await process.load(round < 0 ? timing.warmUpSeconds : timing.seconds, () => undefined)) as number;
      if (round >= 0) costs.push(cost);
    }
  }
  return new Map(running.map(({ part, costs }) => [part, costs]));
}

/** Our HTTP/2 connections with an echo, and our HTTP/1.1 with a constant answer. */
async function measureSockets({ pinning, timing }: SuiteOptions): Promise<readonly Comparison[]> {
  await using processes = new StartedProcesses();
  const generator = await processes.start('./load/load-generator.js', pinning.client);
  const http2 = await processes.start('./servers/http2-echo-server.js', pinning.server);
  const http = await processes.start('./servers/http1-constant-server.js', pinning.server);
  const grpcTarget = await askedGrpc(http2.port('grpcPort'), grpcRequests, checkEcho);
  const place = { port: http.port('httpPort'), path: FLOOR_BINARY_PATH };
  const httpTarget = await askedHttp(place, binaryRequests, (answer) => checkBinaryAnswer(answer, 0));
  const participants: Participant[] = [
    { name: 'socket-grpc', server: http2, target: { ...grpcTarget, connections: AT_ONCE } },
    { name: 'socket-http', server: http, target: { ...httpTarget, connections: AT_ONCE } },
  ];
  const titles = ['our HTTP/2, echo', 'our HTTP/1.1, constant answer'];
  const samples = await measureInterleaved(participants, generator, timing);
  return participants.map(({ name }, i): Comparison => {
    const measured = [{ server: name, title: titles[i]!, samples: samples[i]! }];
    return { id: name, title: `${titles[i]}, ${AT_ONCE} connections`, connections: AT_ONCE, measured };
  });
}
