// HTTP/2 alone: our connections with nothing on them but an echo, beside a grpc-js server that echoes, bare node:http2, and
// sockets that know where a request ends and no more. Small messages are gRPC calls of the identity workload; large ones go both
// ways whole, beside a bare socket that sends back what it got.

import { askedGrpc } from '../asked-targets.js';
import type { BenchProcess } from '../bench-process.js';
import { chosen } from '../chosen.js';
import { errorsOf, formatComparison, type Comparison } from '../comparison.js';
import { checkEcho, grpcRequests } from '../identity-wire.js';
import { measureInterleaved } from '../interleaved.js';
import type { LoadTarget } from '../load/load-run.js';
import { StartedProcesses } from '../started-processes.js';
import type { SuiteOptions, SuiteResult } from '../suite.js';

const LARGE_BYTES = 16 << 20;

const SERVERS = {
  'grpc-js': { module: './floor/grpc-floor.js', title: 'floor: grpc-js echo' },
  socket: { module: './floor/echo-floor.js', title: 'floor: bare socket echo' },
  bare: { module: './floor/raw-floor.js', title: 'constant answer on a socket' },
  'node-http2': { module: './floor/node-http2-floor.js', title: 'node:http2 echo' },
  ours: { module: './servers/http2-echo-server.js', title: 'our HTTP/2, echo' },
} as const;
type ServerName = keyof typeof SERVERS;

interface Row {
  readonly title: string;
  readonly connections: number;
  /** 0: one large message at a time. */
  readonly streams: number;
  /** The first is the floor. */
  readonly servers: readonly ServerName[];
}

const SMALL_SERVERS = ['grpc-js', 'bare', 'node-http2', 'ours'] as const;

const ROWS: Readonly<Record<string, Row>> = {
  '1x1': { title: 'unary calls, 1 connection', connections: 1, streams: 1, servers: SMALL_SERVERS },
  '16x1': { title: 'unary calls, 16 connections', connections: 16, streams: 1, servers: SMALL_SERVERS },
  '64x1': { title: 'unary calls, 64 connections', connections: 64, streams: 1, servers: SMALL_SERVERS },
  '1x64': { title: 'unary calls, 1 connection x 64 streams', connections: 1, streams: 64, servers: SMALL_SERVERS },
  large: {
    title: '16 MB and back, 1 connection',
    connections: 1,
    streams: 0,
    servers: ['socket', 'node-http2', 'ours'],
  },
};

export async function runHttp2(options: SuiteOptions): Promise<SuiteResult> {
  const rows = chosen(Object.keys(ROWS), options.only, '--only');
  const servers = chosen(Object.keys(SERVERS) as ServerName[], options.servers, '--servers');
  const comparisons: Comparison[] = [];
  await using processes = new StartedProcesses();
  const generator = await processes.start('./load/load-generator.js', options.pinning.client);
  const running = new Map<ServerName, BenchProcess>();
  for (const name of servers) running.set(name, await processes.start(SERVERS[name].module, options.pinning.server));
  for (const id of rows) {
    const row = ROWS[id]!;
    const participants = await Promise.all(
      row.servers
        .filter((name) => running.has(name))
        .map(async (name) => {
          const server = running.get(name)!;
          return { name, server, target: await targetOf(name, server, row) };
        }),
    );
    const samples = await measureInterleaved(participants, generator, options.timing);
    const measured = participants.map(({ name }, i) => ({
      server: name,
      title: SERVERS[name].title,
      samples: samples[i]!,
    }));
    const comparison = { id, title: row.title, connections: row.connections, measured };
    comparisons.push(comparison);
    options.print(`${formatComparison(comparison)}\n`);
  }
  return { comparisons, goals: [], errors: comparisons.reduce((sum, one) => sum + errorsOf(one), 0) };
}

/** Small messages are checked with a client that is not ours before they are measured, large ones by the load itself. */
async function targetOf(name: ServerName, server: BenchProcess, row: Row): Promise<LoadTarget> {
  const { connections, streams } = row;
  if (streams === 0) {
    const isSocket = name === 'socket';
    const port = server.port(isSocket ? 'socketPort' : 'grpcPort');
    return { protocol: 'large', wire: isSocket ? 'socket' : 'http2', port, connections, bytes: LARGE_BYTES };
  }
  const check = (message: Buffer, k: number): void => checkEcho(message, name === 'bare' ? 0 : k);
  return { ...(await askedGrpc(server.port('grpcPort'), grpcRequests, check)), connections, streams };
}
