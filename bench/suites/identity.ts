// The identity model, 2 x FP32 [1,16] in and out, over HTTP JSON, HTTP binary and gRPC: our server, with and without its
// server thread, beside the smallest server that speaks the same wire.

import { BenchProcess } from '../bench-process.js';
import { chosen } from '../chosen.js';
import type { Comparison, Measured } from '../comparison.js';
import { errorsOf, formatComparison, medianOf, ratioToFloor } from '../comparison.js';
import { FLOOR_BINARY_PATH, FLOOR_JSON_PATH } from '../floor/floor-paths.js';
import { formatGoals, type Goal } from '../goals.js';
import * as wire from '../identity-wire.js';
import { measureInterleaved } from '../interleaved.js';
import type { Participant } from '../interleaved.js';
import type { GrpcTarget } from '../load/grpc-load-connection.js';
import type { HttpTarget } from '../load/http-load-connection.js';
import { rawHttpRequest } from '../load/raw-http-request.js';
import { askGrpc, askHttp, modelInfer } from '../real-clients.js';
import type { SuiteOptions, SuiteResult } from '../suite.js';

const STREAMS_ON_ONE_CONNECTION = 64;

const SERVERS = ['floor', 'raw', 'thread', 'inline'] as const;
type ServerName = (typeof SERVERS)[number];

const WIRES = ['http-json', 'http-binary', 'grpc'] as const;
type Wire = (typeof WIRES)[number];

const WIRE_TITLES: Readonly<Record<Wire, string>> = {
  'http-json': 'HTTP JSON',
  'http-binary': 'HTTP binary',
  grpc: 'gRPC',
};

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
  readonly bounds: readonly [target: number, stretch: number];
}

const rate = (id: string, wire: Wire, shape: string, bounds: Wanted['bounds']): Wanted => ({
  id,
  wire,
  shape,
  bounds,
  server: 'thread',
  figure: 'requestsPerSecond',
});
const p50 = (id: string, wire: Wire, server: ServerName, bounds: Wanted['bounds']): Wanted => ({
  id,
  wire,
  server,
  bounds,
  shape: '1x1',
  figure: 'p50',
});

const WANTED: readonly Wanted[] = [
  rate('P1', 'grpc', '16x1', [4, 7]),
  rate('P1', 'grpc', '64x1', [4, 7]),
  rate('P2', 'grpc', '1x64', [4, 7]),
  p50('P3', 'grpc', 'inline', [1, 0.7]),
  rate('P4', 'http-binary', '16x1', [0.85, 1.1]),
  rate('P4', 'http-binary', '64x1', [0.85, 1.1]),
  rate('P5', 'http-json', '16x1', [0.7, 1]),
  rate('P5', 'http-json', '64x1', [0.7, 1]),
  p50('P6', 'http-binary', 'inline', [1.5, 1.15]),
  p50('P6', 'http-binary', 'thread', [2.3, 1.7]),
  p50('P6', 'http-json', 'inline', [1.5, 1.15]),
  p50('P6', 'http-json', 'thread', [2.3, 1.7]),
];
/** Microseconds that the server's thread may add to p50. */
const HOP_BOUNDS = [70, 30] as const;

export async function runIdentity(options: SuiteOptions): Promise<SuiteResult> {
  const wires = chosen(WIRES, options.only, '--only');
  const servers = chosen(SERVERS, options.servers, '--servers', ['floor', 'thread', 'inline']);
  if (!servers.includes('floor')) throw new Error('--servers must name the floor: the others are compared with it');
  const started: BenchProcess[] = [];
  const comparisons: Comparison[] = [];
  try {
    const generator = await BenchProcess.start(new URL('../load/load-generator.js', import.meta.url), {
      cpus: options.pinning.client,
    });
    started.push(generator);
    const running: Running[] = [];
    for (const name of servers) running.push(await startServer(name, options.pinning.server, started));
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
  } finally {
    await Promise.all(started.map((one) => one.stop()));
  }
  const goals = goalsOf(comparisons);
  options.print(formatGoals(goals));
  return { comparisons, goals, errors: comparisons.reduce((sum, one) => sum + errorsOf(one), 0) };
}

async function startServer(name: ServerName, cpus: string | undefined, started: BenchProcess[]): Promise<Running> {
  const start = async (module: string, ...parameters: string[]): Promise<BenchProcess> => {
    const one = await BenchProcess.start(new URL(module, import.meta.url), { cpus, arguments: parameters });
    started.push(one);
    return one;
  };
  const everywhere = (one: BenchProcess): Running => ({
    name,
    processes: { 'http-json': one, 'http-binary': one, grpc: one },
  });
  switch (name) {
    case 'floor': {
      const http = await start('../floor/http-floor.js');
      const grpc = await start('../floor/grpc-floor.js');
      return { name, processes: { 'http-json': http, 'http-binary': http, grpc } };
    }
    case 'raw':
      return everywhere(await start('../floor/raw-floor.js'));
    case 'thread':
      return everywhere(await start('../servers/identity-server.js', 'true'));
    case 'inline':
      return everywhere(await start('../servers/identity-server.js', 'false'));
  }
}

// Asks once through an independent client and checks the answer; the load then expects its very bytes. Streams and
// connections are filled in later.
async function verifiedTarget(server: Running, id: Wire): Promise<HttpTarget | GrpcTarget> {
  const one = server.processes[id];
  const isOurs = server.name === 'thread' || server.name === 'inline';
  if (id === 'grpc') {
    const port = one.port('grpcPort');
    const expectedMessage = await askGrpc(port, wire.grpcRequest);
    if (isOurs) wire.checkGrpcAnswer(expectedMessage);
    else wire.checkSameBytes(expectedMessage, wire.grpcRequest);
    const { path } = modelInfer;
    return { protocol: 'grpc', port, connections: 1, streams: 1, path, message: wire.grpcRequest, expectedMessage };
  }
  const port = one.port('httpPort');
  const isJson = id === 'http-json';
  const floorPath = isJson ? FLOOR_JSON_PATH : FLOOR_BINARY_PATH;
  const path = isOurs ? `/v2/models/${wire.MODEL}/infer` : floorPath;
  const form = isJson ? wire.jsonRequest : wire.binaryRequest;
  const { headers, body } = await askHttp(port, path, form);
  if (isJson) wire.checkJsonAnswer(body);
  else wire.checkBinaryAnswer(body, Number(headers['inference-header-content-length']));
  return { protocol: 'http', port, connections: 1, request: rawHttpRequest(port, path, form), expectedBody: body };
}

function describeWire(id: Wire, running: readonly Running[], targets: readonly (HttpTarget | GrpcTarget)[]): string {
  const sizes = targets.map((target, i) => {
    const [sent, answered] =
      target.protocol === 'http'
        ? [target.request.length, target.expectedBody.length]
        : [target.message.length, target.expectedMessage.length];
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
  const ratios = WANTED.flatMap(({ id, wire: wireId, shape, server, figure, bounds }): Goal[] => {
    const found = find(`${wireId} ${shape}`, server);
    if (!found) return [];
    const isRate = figure === 'requestsPerSecond';
    const [target, stretch] = bounds;
    const what = `${WIRE_TITLES[wireId]} ${shape}, serverThread: ${server === 'thread'}: ${isRate ? 'req/s' : 'p50'} x floor`;
    const got = ratioToFloor(found.comparison, found.measured, figure).median;
    return [{ id, what, got, bound: isRate ? 'at least' : 'at most', target, stretch }];
  });
  const hops = WIRES.flatMap((id): Goal[] => {
    const thread = find(`${id} 1x1`, 'thread');
    const inline = find(`${id} 1x1`, 'inline');
    if (!thread || !inline) return [];
    const what = `${WIRE_TITLES[id]} 1x1: us that the server's thread adds to p50`;
    const got = medianOf(thread.measured, 'p50') - medianOf(inline.measured, 'p50');
    return [{ id: 'P13', what, got, bound: 'at most', target: HOP_BOUNDS[0], stretch: HOP_BOUNDS[1] }];
  });
  return [...ratios, ...hops];
}
