// Large tensors, 1 MB and 16 MB: into a model that only counts them, and into one that gives them back, over HTTP binary and gRPC.
// The floor is a bare node:http server that collects as many bytes and answers with them or with a few.

import { askedHttp } from '../asked-targets.js';
import type { BenchProcess } from '../bench-process.js';
import { chosen } from '../chosen.js';
import { errorsOf, medianOf, ratioToFloor } from '../comparison.js';
import type { Comparison, Measured } from '../comparison.js';
import { formatGoals, goalFor, type Goal } from '../goals.js';
import { measureInterleaved } from '../interleaved.js';
import type { RoundSample, Timing } from '../interleaved.js';
import * as wire from '../large-wire.js';
import type { HttpTarget } from '../load/http-load-connection.js';
import type { LargeTarget } from '../load/large-load-connection.js';
import { forgetPeak, processMemory } from '../process-memory.js';
import { askGrpc, modelInfer } from '../real-clients.js';
import { StartedProcesses } from '../started-processes.js';
import type { SuiteOptions, SuiteResult } from '../suite.js';
import { formatFigure, formatTable } from '../table.js';
import { IDS } from '../tensor-wire.js';

const ROWS = {
  'http-sink': { title: 'HTTP binary, in', wire: 'http', model: wire.SINK },
  'http-echo': { title: 'HTTP binary, in and out', wire: 'http', model: wire.ECHO },
  'grpc-sink': { title: 'gRPC, in', wire: 'grpc', model: wire.SINK },
  'grpc-echo': { title: 'gRPC, in and out', wire: 'grpc', model: wire.ECHO },
} as const;
type Row = keyof typeof ROWS;

const SERVERS = {
  floor: 'floor: bare node:http',
  thread: 'serverThread: true',
  inline: 'serverThread: false',
} as const;
type ServerName = keyof typeof SERVERS;

const MIB = 1 << 20;
const SIZES = [1, 16] as const;
/** Only one large message at a time, so that the least memory that a server can do with is seen. */
const CONNECTIONS = 1;

interface Peak {
  readonly id: string;
  readonly server: ServerName;
  /** Bytes: when the server had nothing to do yet, and the most while it was measured. */
  readonly idle: number;
  readonly peak: number;
}

export async function runLarge(options: SuiteOptions): Promise<SuiteResult> {
  const rows = chosen(Object.keys(ROWS) as Row[], options.only, '--only');
  const names = chosen(Object.keys(SERVERS) as ServerName[], options.servers, '--servers');
  if (!names.includes('floor')) throw new Error('--servers must name the floor: the others are compared with it');
  const comparisons: Comparison[] = [];
  const peaks: Peak[] = [];
  for (const id of rows) {
    for (const megabytes of SIZES) {
      const measured = await measureRow(id, megabytes, { names, options });
      comparisons.push(measured.comparison);
      peaks.push(...measured.peaks);
      options.print(`${formatRow(measured.comparison, measured.peaks)}\n`);
    }
  }
  const goals = goalsOf(comparisons, peaks);
  options.print(formatGoals(goals));
  const errors = comparisons.reduce((sum, one) => sum + errorsOf(one), 0);
  return { comparisons, goals, errors, figures: { peaks } };
}

interface RowOptions {
  readonly names: readonly ServerName[];
  readonly options: SuiteOptions;
}

/** Servers of their own, so that the peak is this row's. */
async function measureRow(row: Row, megabytes: number, { names, options: { pinning, timing } }: RowOptions) {
  await using processes = new StartedProcesses();
  const generator = await processes.start('./load/load-generator.js', pinning.client);
  const values = wire.valuesOf(megabytes * MIB);
  const id = `${row} ${megabytes} MB`;
  const participants = [];
  const idles: number[] = [];
  for (const name of names) {
    const server =
      name === 'floor'
        ? await processes.start('./floor/large-floor.js', pinning.server)
        : await processes.start('./servers/large-server.js', pinning.server, String(name === 'thread'));
    idles.push(processMemory(server.pid).resident);
    forgetPeak(server.pid);
    participants.push({ name, server, target: await verifiedTarget(name, server, { row, values }) });
  }
  const samples = await measureInterleaved(participants, generator, atLeastSome(timing));
  const peaks = participants.map(({ name, server }, i): Peak => {
    return { id, server: name, idle: idles[i]!, peak: processMemory(server.pid).peak };
  });
  const measured = participants.map(({ name }, i): Measured => {
    return { server: name, title: SERVERS[name], samples: samples[i]! };
  });
  const title = `${megabytes} MB, ${ROWS[row].title}, ${CONNECTIONS} connection`;
  const comparison: Comparison = { id, title, connections: CONNECTIONS, measured };
  return { comparison, peaks };
}

/** A request of 16 MB takes tens of milliseconds: shorter rounds have too few. */
function atLeastSome(timing: Timing): Timing {
  return { ...timing, seconds: Math.max(timing.seconds, 0.5) };
}

async function verifiedTarget(
  name: ServerName,
  server: BenchProcess,
  { row, values }: { readonly row: Row; readonly values: Buffer },
): Promise<HttpTarget | LargeTarget> {
  const { wire: protocol, model } = ROWS[row];
  if (protocol === 'grpc' && name !== 'floor') {
    const port = server.port('grpcPort');
    const message = wire.grpcRequest(model, values, IDS[0]!);
    const expectedMessage = await askGrpc(port, message);
    wire.checkAnswer(model, expectedMessage, values);
    const call = { path: modelInfer.path, message, expectedMessage };
    return { protocol: 'large', wire: 'grpc', port, connections: CONNECTIONS, bytes: message.length, call };
  }
  const isEcho = model === wire.ECHO;
  const path = name === 'floor' ? (isEcho ? '/echo' : '/sink') : `/v2/models/${model}/infer`;
  // One connection has one request at a time: no other one's answer could come.
  const form = wire.httpRequest(values, IDS[0]!);
  const target = await askedHttp({ port: server.port('httpPort'), path }, [form], ({ body }) => {
    if (name !== 'floor') wire.checkAnswer(model, body, values);
    else if (isEcho ? !body.equals(form.body) : body.toString() !== String(form.body.length)) {
      throw new Error('the floor answers something else');
    }
  });
  return { ...target, connections: CONNECTIONS };
}

const HEAD = [
  'server',
  'req/s',
  'p50 ms',
  'p99 ms',
  'CPU ms/req',
  'x floor (min-max)',
  'idle MB',
  'peak MB',
  'x payload',
];

export function formatRow(comparison: Comparison, peaks: readonly Peak[]): string {
  const payload = payloadOf(comparison.id);
  const rows = comparison.measured.map((measured, i) => {
    const figure = (name: keyof RoundSample, unit: number): string => formatFigure(medianOf(measured, name) / unit);
    const cpu = ratioToFloor(comparison, measured, 'serverCpuPerRequest');
    const { idle, peak } = peaks[i]!;
    return [
      measured.title,
      figure('requestsPerSecond', 1),
      figure('p50', 1000),
      figure('p99', 1000),
      figure('serverCpuPerRequest', 1000),
      i === 0 ? '1' : `${formatFigure(cpu.median)} (${formatFigure(cpu.min)}-${formatFigure(cpu.max)})`,
      (idle / 1e6).toFixed(0),
      (peak / 1e6).toFixed(0),
      formatFigure(peak / payload),
    ];
  });
  const failed = comparison.measured.flatMap(({ samples }) => samples).find(({ firstError }) => firstError);
  const error = failed ? `\nERROR: ${failed.firstError}` : '';
  return `${comparison.title}\n${formatTable(HEAD, rows)}${error}`;
}

function payloadOf(id: string): number {
  return Number(/(\d+) MB$/.exec(id)![1]) * MIB;
}

/** Stated for 16 MB in and out. */
function goalsOf(comparisons: readonly Comparison[], peaks: readonly Peak[]): readonly Goal[] {
  return comparisons
    .filter(({ id }) => id.endsWith('echo 16 MB'))
    .flatMap((comparison) =>
      comparison.measured.slice(1).flatMap((measured): Goal[] => {
        const what = `${comparison.title}, ${measured.title}`;
        const cpu = ratioToFloor(comparison, measured, 'serverCpuPerRequest').median;
        const { peak } = peaks.find(({ id, server }) => id === comparison.id && server === measured.server)!;
        const memory = peak / payloadOf(comparison.id);
        return [goalFor('P7', `${what}: CPU x floor`, cpu), goalFor('P8', `${what}: peak RSS x payload`, memory)];
      }),
    );
}
