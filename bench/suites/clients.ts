// What a call costs the client: CPU time per call of `ModelClient` beside clients that send and receive the same bytes and know
// nothing of tensors, of one server of ours.

import type { BenchProcess } from '../bench-process.js';
import { chosen } from '../chosen.js';
import { formatGoals, type Goal } from '../goals.js';
import { StartedProcesses } from '../started-processes.js';
import { median, pairedRatios } from '../statistics.js';
import type { SuiteOptions, SuiteResult } from '../suite.js';
import { formatFigure, formatTable } from '../table.js';

const ROWS = {
  'small-http': { title: '2 x FP32[1,16], HTTP binary', wire: 'http', size: 'small' },
  'small-grpc': { title: '2 x FP32[1,16], gRPC', wire: 'grpc', size: 'small' },
  'large-http': { title: '1 MB in and out, HTTP binary', wire: 'http', size: 'large' },
  'large-grpc': { title: '1 MB in and out, gRPC', wire: 'grpc', size: 'large' },
} as const;
type Row = keyof typeof ROWS;

/** Ours first, then those that it is compared with. */
const CLIENTS = {
  http: { 'ours-http': 'ModelClient', node: 'bare node:http', undici: 'undici' },
  grpc: { 'ours-grpc': 'ModelClient', 'grpc-js': '@grpc/grpc-js' },
} as const;

const MOST_OF_LEANEST = 1.5;
/** All of a client is compiled by then: after a second it was not, and the rounds of a run differed by half. */
const WARM_UP_SECONDS = 4;

interface MeasuredClient {
  readonly title: string;
  /** Microseconds, of each round. */
  readonly costs: number[];
}

export async function runClients(options: SuiteOptions): Promise<SuiteResult> {
  const rows = chosen(Object.keys(ROWS) as Row[], options.only, '--only');
  const goals: Goal[] = [];
  const figures: Record<string, readonly MeasuredClient[]> = {};
  for (const row of rows) {
    const clients = await measureRow(row, options);
    figures[row] = clients;
    options.print(`${formatClients(ROWS[row].title, clients)}\n`);
    goals.push(goalOf(ROWS[row].title, clients));
  }
  options.print(formatGoals(goals));
  return { comparisons: [], goals, errors: 0, figures };
}

async function measureRow(row: Row, { pinning, timing, isQuick }: SuiteOptions): Promise<readonly MeasuredClient[]> {
  const { wire, size } = ROWS[row];
  await using processes = new StartedProcesses();
  const module = size === 'small' ? './servers/identity-server.js' : './servers/large-server.js';
  const server = await processes.start(module, pinning.server, 'true');
  const port = String(server.port(wire === 'http' ? 'httpPort' : 'grpcPort'));
  const running: { readonly process: BenchProcess; readonly measured: MeasuredClient }[] = [];
  for (const [name, title] of Object.entries(CLIENTS[wire])) {
    const process = await processes.start('./load/client-process.js', pinning.client, name, port, size);
    running.push({ process, measured: { title, costs: [] } });
  }
  const warmUpSeconds = isQuick ? timing.warmUpSeconds : WARM_UP_SECONDS;
  for (let round = -1; round < timing.rounds; round++) {
    for (const { process, measured } of running) {
      const cost = (await process.load(round < 0 ? warmUpSeconds : timing.seconds, () => undefined)) as number;
      if (round >= 0) measured.costs.push(cost);
    }
  }
  return running.map(({ measured }) => measured);
}

/** Of the others. */
function leanestOf(clients: readonly MeasuredClient[]): MeasuredClient {
  return clients.slice(1).reduce((least, one) => (median(one.costs) < median(least.costs) ? one : least));
}

function formatClients(title: string, clients: readonly MeasuredClient[]): string {
  const leanest = leanestOf(clients);
  const rows = clients.map(({ title: client, costs }) => [
    client,
    formatFigure(median(costs)),
    formatFigure(Math.min(...costs)),
    formatFigure(Math.max(...costs)),
    formatFigure(median(pairedRatios(costs, leanest.costs))),
  ]);
  return `${title}: CPU us per call of the client\n${formatTable(['client', 'median', 'min', 'max', 'x leanest'], rows)}`;
}

function goalOf(title: string, clients: readonly MeasuredClient[]): Goal {
  const leanest = leanestOf(clients);
  return {
    id: 'client',
    what: `CPU of a call, ${title}, times that of ${leanest.title}`,
    got: median(pairedRatios(clients[0]!.costs, leanest.costs)),
    bound: 'at most',
    target: MOST_OF_LEANEST,
  };
}
