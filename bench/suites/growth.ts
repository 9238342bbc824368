// How the cost of a request grows with what it has, and with what else the server has: tensors a request, rows a batch, models,
// idle connections, queued requests. Costs are CPU time of the server, over gRPC.

import { askedGrpc } from '../asked-targets.js';
import { chosen } from '../chosen.js';
import { errorsOf, medianOf } from '../comparison.js';
import type { Comparison, Measured } from '../comparison.js';
import { formatGoals, goalFor, type Goal } from '../goals.js';
import { growthOf } from '../growth-model.js';
import type { Growth } from '../growth-model.js';
import { grpcRequests, isAnswer, modelNamed, SERIES } from '../growth-workload.js';
import type { SeriesName } from '../growth-workload.js';
import { measureInterleaved } from '../interleaved.js';
import type { Participant } from '../interleaved.js';
import type { IdleOrder } from '../load/idle-connections.js';
import { processMemory } from '../process-memory.js';
import { StartedProcesses } from '../started-processes.js';
import type { SuiteOptions, SuiteResult } from '../suite.js';
import { formatFigure, formatTable } from '../table.js';
import { SERVERS, TITLES } from './callables-part.js';
import type { ServerName } from './callables-part.js';

/** A server of its own for each size, and what is asked of it. */
interface Setting {
  readonly models: number;
  readonly tensors: number;
  readonly maxBatchSize: number;
  readonly waitMilliseconds: number;
  readonly connections: number;
  readonly streams: number;
  readonly idle: number;
}

const USUAL: Setting = {
  models: 1,
  tensors: 1,
  maxBatchSize: 64,
  waitMilliseconds: 0,
  connections: 16,
  streams: 1,
  idle: 0,
};

const SETTINGS: Readonly<Record<SeriesName, (size: number) => Setting>> = {
  tensors: (tensors) => ({ ...USUAL, tensors, maxBatchSize: 1 }),
  // Twice as many in flight as the largest batch has.
  rows: (maxBatchSize) => ({ ...USUAL, maxBatchSize, streams: 16 }),
  models: (models) => ({ ...USUAL, models, maxBatchSize: 1 }),
  idle: (idle) => ({ ...USUAL, idle, maxBatchSize: 1 }),
  // What is in flight is in the queue, but for one batch.
  queued: (size) => ({ ...USUAL, maxBatchSize: 32, waitMilliseconds: 1, connections: 16, streams: size / 16 }),
};

export interface GrowthRow {
  readonly series: SeriesName;
  readonly server: ServerName;
  readonly size: number;
  /** Microseconds of the server's CPU per request. */
  readonly cpu: number;
  /** Microseconds. */
  readonly p50: number;
  readonly requestsPerSecond: number;
  /** Bytes, before the load: what models and idle connections take. */
  readonly resident: number;
  /** Rows of a batch on average, by the server's statistics. */
  readonly batch: number;
  readonly startMilliseconds: number;
}

export async function runGrowth(options: SuiteOptions): Promise<SuiteResult> {
  const wanted = chosen(Object.keys(SERIES) as SeriesName[], options.only, '--only');
  const servers = chosen(SERVERS, options.servers, '--servers', ['thread']);
  const comparisons: Comparison[] = [];
  const rows: GrowthRow[] = [];
  for (const series of wanted) {
    for (const server of servers) {
      const measured = await measureSeries(series, server, options);
      comparisons.push(measured.comparison);
      rows.push(...measured.rows);
      options.print(`${formatSeries(measured.rows)}\n`);
    }
  }
  const goals = growthGoals(rows);
  options.print(formatGoals(goals));
  const errors = comparisons.reduce((sum, one) => sum + errorsOf(one), 0);
  return { comparisons, goals, errors, figures: { rows } };
}

async function measureSeries(series: SeriesName, server: ServerName, { isQuick, pinning, timing }: SuiteOptions) {
  await using processes = new StartedProcesses();
  const generator = await processes.start('./load/load-generator.js', pinning.client);
  const sizes = SERIES[series].sizes.filter((size) => !isQuick || size <= 1024);
  const participants: Participant[] = [];
  const started = [];
  for (const size of sizes) {
    const setting = SETTINGS[series](size);
    const { models, tensors, maxBatchSize, waitMilliseconds, connections, streams, idle } = setting;
    const one = await processes.start(
      './servers/growth-server.js',
      pinning.server,
      String(server === 'thread'),
      ...[models, tensors, maxBatchSize, waitMilliseconds].map(String),
    );
    if (idle > 0) {
      const holder = await processes.start('./load/idle-connections.js', pinning.client);
      const order: IdleOrder = { httpPort: one.port('httpPort'), grpcPort: one.port('grpcPort'), connections: idle };
      await holder.load(order, () => undefined);
      started.push({ one, size, holder, order });
    } else started.push({ one, size });
    const port = one.port('grpcPort');
    // The last model, so that one that is looked for in a list is found last.
    const target = await askedGrpc(port, grpcRequests(modelNamed(models - 1), tensors), (answer, k) => {
      if (!isAnswer(answer, tensors, k)) throw new Error('wrong answer: not the rows that were sent');
    });
    participants.push({ name: String(size), server: one, target: { ...target, connections, streams } });
  }
  const residents = started.map(({ one }) => processMemory(one.pid).resident);
  const startTimes = await Promise.all(started.map(({ one }) => one.load(undefined, () => undefined)));
  const samples = await measureInterleaved(participants, generator, timing);
  const batches = await Promise.all(started.map(({ one, size }) => rowsOfBatch(one.port('httpPort'), series, size)));
  for (const { holder, order, size } of started) {
    if (holder === undefined) continue;
    const stillOpen = (await holder.load(order, () => undefined)) as number;
    if (stillOpen < size) throw new Error(`the server has closed ${size - stillOpen} of ${size} idle connections`);
  }
  const measured = participants.map(({ name }, i): Measured => ({ server: name, title: name, samples: samples[i]! }));
  const title = `${SERIES[series].title}, ${TITLES[server]}`;
  const comparison: Comparison = { id: `${series} ${server}`, title, connections: 16, base: 'first', measured };
  const rows = measured.map((one, i): GrowthRow => ({
    series,
    server,
    size: sizes[i]!,
    resident: residents[i]!,
    batch: batches[i]!,
    cpu: medianOf(one, 'serverCpuPerRequest'),
    p50: medianOf(one, 'p50'),
    requestsPerSecond: medianOf(one, 'requestsPerSecond'),
    startMilliseconds: startTimes[i] as number,
  }));
  return { comparison, rows };
}

/** On average over all that the server has executed. */
async function rowsOfBatch(httpPort: number, series: SeriesName, size: number): Promise<number> {
  const model = modelNamed(SETTINGS[series](size).models - 1);
  const answer = await fetch(`http://127.0.0.1:${httpPort}/v2/models/${model}/stats`);
  const { model_stats: stats } = (await answer.json()) as {
    readonly model_stats: readonly { readonly inference_count: number; readonly execution_count: number }[];
  };
  return stats[0]!.inference_count / stats[0]!.execution_count;
}

/** What a request costs of what grows: with rows a batch, all rows of one. */
function costOf({ series, cpu, size }: GrowthRow): number {
  return series === 'rows' ? cpu * size : cpu;
}

function growthOfRows(rows: readonly GrowthRow[]): Growth {
  return growthOf(rows.map((row) => ({ size: row.size, cost: costOf(row) })));
}

export function formatSeries(rows: readonly GrowthRow[]): string {
  const { series, server } = rows[0]!;
  const head = [
    SERIES[series].title,
    'req/s',
    'p50 us',
    `CPU us/req`,
    series === 'tensors' ? 'each of them' : series === 'rows' ? 'a batch' : 'x first',
    'step grows as size^',
    'mean batch',
    'RSS MB before',
    'start ms',
  ];
  const { exponents } = growthOfRows(rows);
  const table = rows.map((row, i) => {
    const { size, cpu, p50, requestsPerSecond, batch, resident, startMilliseconds } = row;
    const more = series === 'tensors' ? cpu / size : series === 'rows' ? cpu * size : cpu / rows[0]!.cpu;
    return [
      String(size),
      ...[requestsPerSecond, p50, cpu, more].map(formatFigure),
      i === 0 ? '' : exponents[i - 1]!.toFixed(2),
      formatFigure(batch),
      (resident / 1e6).toFixed(0),
      formatFigure(startMilliseconds),
    ];
  });
  return `${SERIES[series].title}, ${TITLES[server]}: ${verdictOf(rows)}\n${formatTable(head, table)}`;
}

function verdictOf(rows: readonly GrowthRow[]): string {
  const { factor, sizeFactor, isWorseThanLinear } = growthOfRows(rows);
  const what = rows[0]!.series === 'rows' ? 'a batch costs' : 'a request costs';
  const words = isWorseThanLinear ? 'WORSE THAN LINEAR' : 'linear or better';
  return `${what} ${formatFigure(factor)} x as much with ${formatFigure(sizeFactor)} x as many, ${words}`;
}

/** The steepest step of each series; 1 is in proportion, and what is measured may miss by a fifth. */
export function growthGoals(rows: readonly GrowthRow[]): readonly Goal[] {
  const groups = new Map<string, GrowthRow[]>();
  for (const row of rows) {
    const key = `${row.series} ${row.server}`;
    groups.set(key, [...(groups.get(key) ?? []), row]);
  }
  return [...groups.values()].map((group): Goal => {
    const { series, server } = group[0]!;
    const cost = series === 'rows' ? 'a batch' : 'a request';
    const what = `${SERIES[series].title}, ${group[0]!.size} to ${group.at(-1)!.size}, ${TITLES[server]}: CPU of ${cost}, as size^`;
    return goalFor('P16', what, Math.max(...growthOfRows(group).exponents));
  });
}
