// A server that has just begun: how soon it is ready, and how much memory it holds once it has answered many requests. Each
// measurement has a process of its own.

import { askedGrpc, askedHttp } from '../asked-targets.js';
import { chosen } from '../chosen.js';
import { formatGoals, goalFor, type Goal } from '../goals.js';
import { binaryRequests, grpcRequests, checkBinaryAnswer, checkGrpcAnswer, MODEL } from '../identity-wire.js';
import type { LoadTarget } from '../load/load-run.js';
import type { LoadReport } from '../load/load-window.js';
import { processMemory } from '../process-memory.js';
import type { StartReport } from '../servers/start-server.js';
import { StartedProcesses } from '../started-processes.js';
import { median } from '../statistics.js';
import type { SuiteOptions, SuiteResult } from '../suite.js';
import { formatFigure, formatTable } from '../table.js';
import { SERVERS, TITLES } from './callables-part.js';
import type { ServerName } from './callables-part.js';

const ROWS = ['start', 'resident'] as const;
const WIRES = { 'http-binary': 'HTTP binary', grpc: 'gRPC' } as const;
type Wire = keyof typeof WIRES;
const CONNECTIONS = 16;
const REQUESTS = 100_000;
const QUICK_REQUESTS = 5000;

interface StartSample extends StartReport {
  readonly server: ServerName;
}

interface MemorySample {
  readonly server: ServerName;
  readonly wire: Wire;
  readonly requests: number;
  /** Bytes, before the first request and after the last. */
  readonly before: number;
  readonly after: number;
  readonly peak: number;
}

export async function runMemory(options: SuiteOptions): Promise<SuiteResult> {
  const rows = chosen(ROWS, options.only, '--only');
  const servers = chosen(SERVERS, options.servers, '--servers');
  const starts = rows.includes('start') ? await measureStarts(servers, options) : [];
  const memory = rows.includes('resident') ? await measureMemory(servers, options) : { samples: [], errors: 0 };
  const goals: Goal[] = [];
  if (starts.length > 0) {
    options.print(`${formatStarts(starts, servers)}\n`);
    for (const server of servers) {
      const got = median(starts.filter((one) => one.server === server).map(({ milliseconds }) => milliseconds));
      const what = `new Triton() until run() has resolved, ${TITLES[server]}: ms`;
      goals.push(goalFor('P14', what, got));
    }
    const imported = median(starts.map((sample) => sample.imported));
    goals.push(goalFor('P14', "import of 'tstriton' in a fresh process: ms", imported));
  }
  if (memory.samples.length > 0) options.print(`${formatMemory(memory.samples)}\n`);
  for (const { server, wire, requests, after } of memory.samples) {
    const what = `resident after ${requests} requests over ${WIRES[wire]}, ${TITLES[server]}: MB`;
    goals.push(goalFor('P19', what, after / 1e6));
  }
  options.print(formatGoals(goals));
  return { comparisons: [], goals, errors: memory.errors, figures: { starts, memory: memory.samples } };
}

async function measureStarts(servers: readonly ServerName[], { isQuick, pinning }: SuiteOptions) {
  const samples: StartSample[] = [];
  for (let i = 0; i < (isQuick ? 2 : 10); i++) {
    for (const server of servers) {
      await using processes = new StartedProcesses();
      const one = await processes.start('./servers/start-server.js', pinning.server, String(server === 'thread'));
      samples.push({ server, ...((await one.load(undefined, () => undefined)) as StartReport) });
    }
  }
  return samples;
}

function formatStarts(samples: readonly StartSample[], servers: readonly ServerName[]): string {
  const rows = servers.map((name) => {
    const own = samples.filter(({ server }) => server === name);
    const times = own.map(({ milliseconds }) => milliseconds);
    const cpu = median(own.map((sample) => sample.cpu));
    return [TITLES[name], ...[median(times), Math.min(...times), Math.max(...times), cpu].map(formatFigure)];
  });
  const imports = samples.map(({ imported }) => imported);
  const range = [median(imports), Math.min(...imports), Math.max(...imports)].map(formatFigure);
  const times = samples.length / servers.length;
  return [
    `One model, a fresh process each of ${times} times, package imported before`,
    formatTable(['new Triton() until run() has resolved', 'median ms', 'min', 'max', 'CPU ms'], rows),
    formatTable(["import of 'tstriton'", 'median ms', 'min', 'max'], [['before them', ...range]]),
  ].join('\n');
}

async function measureMemory(servers: readonly ServerName[], { isQuick, pinning, timing, print }: SuiteOptions) {
  const wanted = isQuick ? QUICK_REQUESTS : REQUESTS;
  const samples: MemorySample[] = [];
  let errors = 0;
  for (const wire of Object.keys(WIRES) as Wire[]) {
    for (const server of servers) {
      await using processes = new StartedProcesses();
      const generator = await processes.start('./load/load-generator.js', pinning.client);
      const isThread = String(server === 'thread');
      const one = await processes.start('./servers/identity-server.js', pinning.server, isThread);
      const target = await verifiedTarget(wire, one.port(wire === 'grpc' ? 'grpcPort' : 'httpPort'));
      const before = processMemory(one.pid).resident;
      let requests = 0;
      while (requests < wanted) {
        const order = { target, leadInSeconds: 0, seconds: timing.seconds };
        const report = (await generator.load(order, () => undefined)) as LoadReport;
        requests += report.requests;
        errors += report.errors;
        if (report.firstError !== undefined) print(`ERROR: ${WIRES[wire]}, ${TITLES[server]}: ${report.firstError}`);
        if (report.requests === 0) break;
      }
      const { resident: after, peak } = processMemory(one.pid);
      samples.push({ server, wire, requests, before, after, peak });
    }
  }
  return { samples, errors };
}

async function verifiedTarget(wire: Wire, port: number): Promise<LoadTarget> {
  const target =
    wire === 'grpc'
      ? await askedGrpc(port, grpcRequests, checkGrpcAnswer)
      : await askedHttp({ port, path: `/v2/models/${MODEL}/infer` }, binaryRequests, checkBinaryAnswer);
  return { ...target, connections: CONNECTIONS };
}

function formatMemory(samples: readonly MemorySample[]): string {
  const mb = (bytes: number): string => (bytes / 1e6).toFixed(0);
  const rows = samples.map(({ server, wire, requests, before, after, peak }) => [
    `${WIRES[wire]}, ${TITLES[server]}`,
    String(requests),
    ...[before, after, peak].map(mb),
  ]);
  const title = `Resident memory of a fresh process, one model of two small tensors, ${CONNECTIONS} connections`;
  return `${title}\n${formatTable(['server', 'requests', 'MB before', 'MB after', 'MB at most'], rows)}`;
}
