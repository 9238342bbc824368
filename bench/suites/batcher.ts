// The batcher: what its decision costs per request, and how near a model that is worth batching comes to the throughput
// of full batches without a pause, 32 rows in 5 ms + 32 x 0.1 ms. Requests of one row come in a closed loop, and at random
// moments (Poisson): at 90 % of the ideal, and at 120 %, where the queue grows.

import { askedGrpc } from '../asked-targets.js';
import { measureDecisions, QUEUED } from '../batch-decision.js';
import type { DecisionCost } from '../batch-decision.js';
import { checkAnswer, grpcRequests, IDEAL_ROWS_PER_SECOND, MODEL } from '../batcher-workload.js';
import type { BenchProcess } from '../bench-process.js';
import { chosen } from '../chosen.js';
import type { Comparison, Measured } from '../comparison.js';
import { errorsOf, medianOf } from '../comparison.js';
import { formatGoals, goalFor, type Goal } from '../goals.js';
import { measureInterleaved } from '../interleaved.js';
import type { GrpcTarget } from '../load/grpc-load-connection.js';
import { StartedProcesses } from '../started-processes.js';
import type { SuiteOptions, SuiteResult } from '../suite.js';
import { formatFigure, formatTable } from '../table.js';

const SERVERS = ['thread', 'inline'] as const;
type ServerName = (typeof SERVERS)[number];
const TITLES: Readonly<Record<ServerName, string>> = {
  thread: 'serverThread: true, callable blocks',
  inline: 'serverThread: false, callable waits',
};

/** Connections, and calls in flight or the rate of arrivals of all together as a share of the ideal. */
const LOADS = {
  closed: { title: 'closed loop, 128 in flight', connections: 4, streams: 32 },
  'poisson-90': { title: 'Poisson, 90 % of the ideal', connections: 4, streams: 1000, share: 0.9 },
  'poisson-120': { title: 'Poisson, 120 % of the ideal', connections: 4, streams: 1000, share: 1.2 },
} as const;
type LoadName = keyof typeof LOADS;

export async function runBatcher(options: SuiteOptions): Promise<SuiteResult> {
  const rows = ['decision', ...Object.keys(LOADS)];
  const wanted = chosen(rows, options.only, '--only');
  const servers = chosen(SERVERS, options.servers, '--servers');
  let decisions: readonly DecisionCost[] = [];
  if (wanted.includes('decision')) {
    decisions = await measureDecisions(options.timing.seconds / 4);
    options.print(`${formatDecisions(decisions)}\n`);
  }
  const loads = (Object.keys(LOADS) as LoadName[]).filter((name) => wanted.includes(name));
  const comparisons = loads.length === 0 ? [] : await measureLoads(loads, servers, options);
  const goals = goalsOf(comparisons);
  options.print(formatGoals(goals));
  return {
    comparisons,
    goals,
    errors: comparisons.reduce((sum, one) => sum + errorsOf(one), 0),
    figures: { decisions },
  };
}

function formatDecisions(decisions: readonly DecisionCost[]): string {
  const names = [...new Set(decisions.map(({ name }) => name))];
  const cost = (name: string, queued: number) =>
    decisions.find((one) => one.name === name && one.queued === queued)!.nanoseconds;
  const table = formatTable(
    ['ns per request, through the queue and into a batch', ...QUEUED.map((queued) => `${queued} queued`)],
    names.map((name) => [name, ...QUEUED.map((queued) => formatFigure(cost(name, queued)))]),
  );
  return `The decision alone, batches of up to 32\n${table}`;
}

async function measureLoads(
  loads: readonly LoadName[],
  servers: readonly ServerName[],
  options: SuiteOptions,
): Promise<readonly Comparison[]> {
  const { timing, pinning, print } = options;
  await using processes = new StartedProcesses();
  const generator = await processes.start('./load/load-generator.js', pinning.client);
  const running: { readonly name: ServerName; readonly server: BenchProcess; readonly target: GrpcTarget }[] = [];
  for (const name of servers) {
    const server = await processes.start('./servers/batcher-server.js', pinning.server, String(name === 'thread'));
    running.push({ name, server, target: await askedGrpc(server.port('grpcPort'), grpcRequests, checkAnswer) });
  }
  const comparisons: Comparison[] = [];
  for (const load of loads) {
    const shape = LOADS[load];
    const participants = running.map(({ target, ...one }) => ({ ...one, target: { ...target, ...loadOf(load) } }));
    const before = await Promise.all(running.map(({ server }) => batchesOf(server)));
    const samples = await measureInterleaved(participants, generator, timing);
    const after = await Promise.all(running.map(({ server }) => batchesOf(server)));
    const measured = running.map(({ name }, i): Measured => ({
      server: name,
      title: TITLES[name],
      samples: samples[i]!,
    }));
    const comparison = { id: load, title: shape.title, connections: shape.connections, measured };
    comparisons.push(comparison);
    const batches = running.map((_, i) => difference(after[i]!, before[i]!));
    print(`${formatLoad(comparison, batches)}\n`);
  }
  return comparisons;
}

function loadOf(name: LoadName): Pick<GrpcTarget, 'connections' | 'streams' | 'arrivalsPerSecond'> {
  const load = LOADS[name];
  const { connections, streams } = load;
  if (!('share' in load)) return { connections, streams };
  return { connections, streams, arrivalsPerSecond: (load.share * IDEAL_ROWS_PER_SECOND) / connections };
}

interface Batches {
  readonly rows: number;
  readonly executions: number;
  /** Milliseconds of all executions: before, in, and behind the callable. */
  readonly inputMs: number;
  readonly inferMs: number;
  readonly outputMs: number;
}

/** What the server has executed so far, by its own statistics. */
async function batchesOf(server: BenchProcess): Promise<Batches> {
  const response = await fetch(`http://127.0.0.1:${server.port('httpPort')}/v2/models/${MODEL}/stats`);
  const { model_stats: stats } = (await response.json()) as {
    readonly model_stats: readonly {
      readonly inference_count: number;
      readonly execution_count: number;
      readonly batch_stats: readonly Readonly<
        Record<'compute_input' | 'compute_infer' | 'compute_output', { readonly ns: number }>
      >[];
    }[];
  };
  const { inference_count: rows, execution_count: executions, batch_stats: sizes } = stats[0]!;
  const total = (part: keyof (typeof sizes)[number]) => sizes.reduce((sum, size) => sum + size[part].ns, 0) / 1e6;
  return {
    rows,
    executions,
    inputMs: total('compute_input'),
    inferMs: total('compute_infer'),
    outputMs: total('compute_output'),
  };
}

function difference(after: Batches, before: Batches): Batches {
  return {
    rows: after.rows - before.rows,
    executions: after.executions - before.executions,
    inputMs: after.inputMs - before.inputMs,
    inferMs: after.inferMs - before.inferMs,
    outputMs: after.outputMs - before.outputMs,
  };
}

function formatLoad(comparison: Comparison, batches: readonly Batches[]): string {
  const percent = (value: number) => `${(100 * value).toFixed(1)} %`;
  const ms = (microseconds: number) => formatFigure(microseconds / 1000);
  const table = formatTable(
    [
      'server',
      'rows/s',
      'of the ideal',
      'p50 ms',
      'p99 ms',
      'rows a batch',
      'to, in, from the callable ms',
      'CPU us/req',
      'errors',
    ],
    comparison.measured.map((measured, i) => {
      const { rows, executions, inputMs, inferMs, outputMs } = batches[i]!;
      const rate = medianOf(measured, 'requestsPerSecond');
      return [
        measured.title,
        formatFigure(rate),
        percent(rate / IDEAL_ROWS_PER_SECOND),
        ms(medianOf(measured, 'p50')),
        ms(medianOf(measured, 'p99')),
        formatFigure(rows / executions),
        [inputMs, inferMs, outputMs].map((part) => formatFigure(part / executions)).join(', '),
        formatFigure(medianOf(measured, 'serverCpuPerRequest')),
        String(measured.samples.reduce((sum, { errors }) => sum + errors, 0)),
      ];
    }),
  );
  const failed = comparison.measured
    .flatMap(({ samples }) => samples)
    .find(({ firstError }) => firstError !== undefined);
  const error = failed === undefined ? '' : `\nERROR: ${failed.firstError}`;
  return `${comparison.title} (ideal: ${formatFigure(IDEAL_ROWS_PER_SECOND)} rows/s)\n${table}${error}`;
}

function goalsOf(comparisons: readonly Comparison[]): readonly Goal[] {
  return comparisons
    .filter(({ id }) => id !== 'poisson-90')
    .flatMap(({ title, measured }) =>
      measured.map((one): Goal => {
        const got = (100 * medianOf(one, 'requestsPerSecond')) / IDEAL_ROWS_PER_SECOND;
        return goalFor('P9', `${title}, ${one.title}: % of the ideal`, got);
      }),
    );
}
