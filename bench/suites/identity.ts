// The identity model, 2 x FP32 [1,16] in and out, over HTTP JSON, HTTP binary and gRPC: our server, with and without its
// server thread, beside the smallest server that speaks the same wire.

import { askedGrpc, askedHttp } from '../asked-targets.js';
import type { BenchProcess } from '../bench-process.js';
import { chosen } from '../chosen.js';
import type { Comparison, Measured } from '../comparison.js';
import { errorsOf, formatComparison, medianOf, ratioToFloor } from '../comparison.js';
import { FLOOR_BINARY_PATH, FLOOR_JSON_PATH } from '../floor/floor-paths.js';
import { formatGoals, type Goal, goalFor, WIRE_TITLES } from '../goals.js';
import * as wire from '../identity-wire.js';
import { measureInterleaved } from '../interleaved.js';
import type { Participant } from '../interleaved.js';
import type { GrpcTarget } from '../load/grpc-load-connection.js';
import type { HttpTarget } from '../load/http-load-connection.js';
import { StartedProcesses } from '../started-processes.js';
import type { SuiteOptions, SuiteResult } from '../suite.js';

const STREAMS_ON_ONE_CONNECTION = 64;

const SERVERS = ['floor', 'raw', 'thread', 'inline'] as const;
type ServerName = (typeof SERVERS)[number];

const WIRES = ['http-json', 'http-binary', 'grpc'] as const;
type Wire = (typeof WIRES)[number];

interface Shape {
  readonly connections: number;
  readonly streams: number;
}

interface Running {
  readonly name: ServerName;
  readonly processes: Readonly<Record<Wire, BenchProcess>>;
}

interface Wanted {
  readonly id: string;
  readonly wire: Wire;
  readonly shape: string;
  readonly server: ServerName;
  readonly figure: 'requestsPerSecond' | 'p50';
}

const rate = (id: string, wire: Wire, shape: string): Wanted => ({
  id,
  wire,
  shape,
  server: 'thread',
  figure: 'requestsPerSecond',
});
const p50 = (id: string, wire: Wire, server: ServerName): Wanted => ({
  id,
  wire,
  server,
  shape: '1x1',
  figure: 'p50',
});

const WANTED: readonly Wanted[] = [
  rate('P1', 'grpc', '16x1'),
  rate('P1', 'grpc', '64x1'),
  rate('P2', 'grpc', '1x64'),
  p50('P3', 'grpc', 'inline'),
  rate('P4', 'http-binary', '16x1'),
  rate('P4', 'http-binary', '64x1'),
  rate('P5', 'http-json', '16x1'),
  rate('P5', 'http-json', '64x1'),
  p50('P6', 'http-binary', 'inline'),
  p50('P6', 'http-binary', 'thread'),
  p50('P6', 'http-json', 'inline'),
  p50('P6', 'http-json', 'thread'),
];

export async function runIdentity(options: SuiteOptions): Promise<SuiteResult> {
  const wires = chosen(WIRES, options.only, '--only');
  const servers = chosen(SERVERS, options.servers, '--servers', ['floor', 'thread', 'inline']);
  if (!servers.includes('floor')) throw new Error('--servers must name the floor: the others are compared with it');
  const comparisons: Comparison[] = [];
  await using processes = new StartedProcesses();
  const generator = await processes.start('./load/load-generator.js', options.pinning.client);
  const running: Running[] = [];
  for (const name of servers) running.push(await startServer(name, options.pinning.server, processes));
  for (const id of wires) {
    const targets = await Promise.all(running.map((one) => verifiedTarget(one, id)));
    options.print(describeWire(id, running, targets));
    for (const shape of shapesOf(id, options.connections)) {
      const participants = running.map((one, i): Participant => {
        const target = targets[i]!;
        const shaped =
          target.protocol === 'http' ? { ...target, connections: shape.connections } : { ...target, ...shape };
        return { name: one.name, server: one.processes[id], target: shaped };
      });
      const samples = await measureInterleaved(participants, generator, options.timing);
      const comparison = compare(id, shape, participants, samples);
      comparisons.push(comparison);
      options.print(`${formatComparison(comparison)}\n`);
    }
  }
  const goals = goalsOf(comparisons);
  options.print(formatGoals(goals));
  return { comparisons, goals, errors: comparisons.reduce((sum, one) => sum + errorsOf(one), 0) };
}

async function startServer(name: ServerName, cpus: string | undefined, processes: StartedProcesses): Promise<Running> {
  const start = (module: string, ...parameters: string[]): Promise<BenchProcess> =>
    processes.start(module, cpus, ...parameters);
  const everywhere = (one: BenchProcess): Running => ({
    name,
    processes: { 'http-json': one, 'http-binary': one, grpc: one },
  });
  switch (name) {
    case 'floor': {
      const http = await start('./floor/http-floor.js');
      const grpc = await start('./floor/grpc-floor.js');
      return { name, processes: { 'http-json': http, 'http-binary': http, grpc } };
    }
    case 'raw':
      return everywhere(await start('./floor/raw-floor.js'));
    case 'thread':
      return everywhere(await start('./servers/identity-server.js', 'true'));
    case 'inline':
      return everywhere(await start('./servers/identity-server.js', 'false'));
  }
}

// Streams and connections are filled in later.
function verifiedTarget(server: Running, id: Wire): Promise<HttpTarget | GrpcTarget> {
  const one = server.processes[id];
  const isOurs = server.name === 'thread' || server.name === 'inline';
  if (id === 'grpc')
    return askedGrpc(one.port('grpcPort'), wire.grpcRequests, isOurs ? wire.checkGrpcAnswer : checkEcho(server.name));
  const isJson = id === 'http-json';
  const path = isOurs ? `/v2/models/${wire.MODEL}/infer` : isJson ? FLOOR_JSON_PATH : FLOOR_BINARY_PATH;
  const forms = isJson ? wire.jsonRequests : wire.binaryRequests;
  const check = isJson ? wire.checkJsonAnswer : wire.checkBinaryAnswer;
  // The floors answer all requests as the first.
  return askedHttp({ port: one.port('httpPort'), path }, forms, (answer, k) => check(answer, isOurs ? k : 0));
}

/** The raw server answers all requests as the first, and the floor each with itself. */
function checkEcho(name: ServerName): (message: Buffer, k: number) => void {
  return (message, k) => wire.checkEcho(message, name === 'raw' ? 0 : k);
}

function describeWire(id: Wire, running: readonly Running[], targets: readonly (HttpTarget | GrpcTarget)[]): string {
  const sizes = targets.map((target, i) => {
    const [sent, answered] =
      target.protocol === 'http'
        ? [target.exchanges[0]!.request.length, target.exchanges[0]!.expected.length]
        : [target.exchanges[0]!.message.length, target.exchanges[0]!.expected.length];
    return `${running[i]!.name} ${sent} -> ${answered}`;
  });
  const what = id === 'grpc' ? 'message bytes' : 'request bytes with headers -> body bytes';
  return `${WIRE_TITLES[id]}: answers checked; ${what}: ${sizes.join(', ')}\n`;
}

function shapesOf(id: Wire, connections: readonly number[]): readonly Shape[] {
  const single = connections.map((count): Shape => ({ connections: count, streams: 1 }));
  return id === 'grpc' ? [...single, { connections: 1, streams: STREAMS_ON_ONE_CONNECTION }] : single;
}

function compare(
  id: Wire,
  shape: Shape,
  participants: readonly Participant[],
  samples: readonly Measured['samples'][],
): Comparison {
  const titles: Readonly<Record<ServerName, string>> = {
    floor: id === 'grpc' ? 'floor: grpc-js echo' : 'floor: bare node:http',
    raw: 'raw: ceiling of the load',
    thread: 'ours, serverThread: true',
    inline: 'ours, serverThread: false',
  };
  const streams = id === 'grpc' ? ` x ${shape.streams} stream${shape.streams === 1 ? '' : 's'}` : '';
  return {
    id: `${id} ${shape.connections}x${shape.streams}`,
    title: `${WIRE_TITLES[id]}, ${shape.connections} connection${shape.connections === 1 ? '' : 's'}${streams}`,
    connections: shape.connections,
    measured: participants.map(({ name }, i) => ({
      server: name,
      title: titles[name as ServerName],
      samples: samples[i]!,
    })),
  };
}

function goalsOf(comparisons: readonly Comparison[]): readonly Goal[] {
  const find = (id: string, server: ServerName): { comparison: Comparison; measured: Measured } | undefined => {
    const comparison = comparisons.find((one) => one.id === id);
    const measured = comparison?.measured.find((one) => one.server === server);
    return comparison && measured ? { comparison, measured } : undefined;
  };
  const ratios = WANTED.flatMap(({ id, wire: wireId, shape, server, figure }): Goal[] => {
    const found = find(`${wireId} ${shape}`, server);
    if (!found) return [];
    const isRate = figure === 'requestsPerSecond';
    const what = `${WIRE_TITLES[wireId]} ${shape}, serverThread: ${server === 'thread'}: ${isRate ? 'req/s' : 'p50'} x floor`;
    const got = ratioToFloor(found.comparison, found.measured, figure).median;
    return [goalFor(id, what, got)];
  });
  const hops = WIRES.flatMap((id): Goal[] => {
    const thread = find(`${id} 1x1`, 'thread');
    const inline = find(`${id} 1x1`, 'inline');
    if (!thread || !inline) return [];
    const what = `${WIRE_TITLES[id]} 1x1: us that the server's thread adds to p50`;
    const got = medianOf(thread.measured, 'p50') - medianOf(inline.measured, 'p50');
    return [goalFor('P13', what, got)];
  });
  return [...ratios, ...hops];
}
