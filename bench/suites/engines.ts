// Add-sub and identity, 2 x FP32 [1,16], on both engines: our own server, and NVIDIA's tritonserver, which hands its batches to
// callables in Node. Beside them Triton's own Python backend and PyTriton, with their callables in Python. One core for each
// server with all its processes, in turns.

import * as addSub from '../add-sub-wire.js';
import { askedGrpc, askedHttp } from '../asked-targets.js';
import { chosen } from '../chosen.js';
import { errorsOf, formatComparison } from '../comparison.js';
import type { Comparison, Measured } from '../comparison.js';
import { formatGoals } from '../goals.js';
import type { Goal } from '../goals.js';
import * as identity from '../identity-wire.js';
import { measureInterleaved } from '../interleaved.js';
import type { MeasuredProcess, Participant } from '../interleaved.js';
import type { LoadTarget } from '../load/load-run.js';
import { startPeer } from '../peers/known-peers.js';
import type { PeerProcessName } from '../peers/known-peers.js';
import { StartedProcesses } from '../started-processes.js';
import { median, pairedRatios } from '../statistics.js';
import type { SuiteOptions, SuiteResult } from '../suite.js';

const WORKLOADS = ['add-sub', 'identity'] as const;
type Workload = (typeof WORKLOADS)[number];
const WIRES = ['http-binary', 'grpc'] as const;
const CONNECTIONS = [1, 16] as const;

/** The first one is what the others are compared with. */
const SERVERS = {
  'triton-python': { title: "Triton's own Python backend", peer: 'triton' },
  proxy: { title: "engine: 'tritonserver'", peer: 'proxy' },
  pytriton: { title: 'PyTriton', peer: 'pytriton' },
  thread: { title: "engine: 'tstriton'", peer: undefined },
} as const satisfies Record<string, { readonly title: string; readonly peer: PeerProcessName | undefined }>;
type ServerName = keyof typeof SERVERS;

interface Running {
  readonly name: ServerName;
  readonly processes: Readonly<Record<Workload, MeasuredProcess>>;
  readonly ports: Readonly<Record<Workload, { readonly http: number; readonly grpc: number }>>;
}

/** What the proxy is to reach, as a share of another's requests per second. */
const TARGETS: Partial<Record<ServerName, number>> = { 'triton-python': 0.6, pytriton: 3 };

export async function runEngines(options: SuiteOptions): Promise<SuiteResult> {
  const wires = chosen(WIRES, options.only, '--only');
  const names = chosen(Object.keys(SERVERS) as ServerName[], options.servers, '--servers');
  const { print, pinning, timing } = options;
  const comparisons: Comparison[] = [];
  await using processes = new StartedProcesses();
  const generator = await processes.start('./load/load-generator.js', pinning.client);
  const running: Running[] = [];
  for (const name of names) running.push(await start(name, pinning.server, processes));
  for (const workload of WORKLOADS) {
    for (const wire of wires) {
      const targets = await Promise.all(running.map(({ ports }) => target(workload, wire, ports[workload])));
      for (const connections of CONNECTIONS) {
        const participants = running.map((one, i): Participant => {
          return { name: one.name, server: one.processes[workload], target: { ...targets[i]!, connections } };
        });
        const samples = await measureInterleaved(participants, generator, timing);
        const measured = running.map(({ name }, i): Measured => {
          return { server: name, title: SERVERS[name].title, samples: samples[i]! };
        });
        const title = `${workload}, ${wire}, ${connections} connection${connections === 1 ? '' : 's'}`;
        const base = SERVERS[names[0]!].title;
        const comparison: Comparison = {
          id: `${workload} ${wire} ${connections}x1`,
          title,
          connections,
          base,
          measured,
        };
        comparisons.push(comparison);
        print(`${formatComparison(comparison)}\n`);
      }
    }
  }
  const goals = comparisons.flatMap(goalsOf);
  print(formatGoals(goals));
  return { comparisons, goals, errors: comparisons.reduce((sum, one) => sum + errorsOf(one), 0) };
}

async function start(name: ServerName, cpus: string | undefined, processes: StartedProcesses): Promise<Running> {
  const { peer } = SERVERS[name];
  if (peer !== undefined) {
    const started = await startPeer(peer, cpus);
    processes.add(started);
    const ports = { http: started.httpPort, grpc: started.grpcPort! };
    return {
      name,
      processes: { 'add-sub': started.process, identity: started.process },
      ports: { 'add-sub': ports, identity: ports },
    };
  }
  const ours = {
    'add-sub': await processes.start('./servers/add-sub-server.js', cpus, 'true'),
    identity: await processes.start('./servers/identity-server.js', cpus, 'true'),
  };
  const portsOf = (workload: Workload) => {
    return { http: ours[workload].port('httpPort'), grpc: ours[workload].port('grpcPort') };
  };
  return { name, processes: ours, ports: { 'add-sub': portsOf('add-sub'), identity: portsOf('identity') } };
}

function target(
  workload: Workload,
  wire: (typeof WIRES)[number],
  { http, grpc }: { readonly http: number; readonly grpc: number },
): Promise<LoadTarget> {
  const isAddSub = workload === 'add-sub';
  const model = isAddSub ? addSub.ADD_SUB : identity.MODEL;
  if (wire === 'grpc') {
    return askedGrpc(grpc, identity.grpcRequestsOf(model), isAddSub ? addSub.checkRawAnswer : identity.checkGrpcAnswer);
  }
  const place = { port: http, path: `/v2/models/${model}/infer` };
  return askedHttp(place, identity.binaryRequests, (answer, k) =>
    isAddSub ? addSub.checkRawAnswer(answer.body, k) : identity.checkBinaryAnswer(answer, k),
  );
}

function goalsOf({ title, measured }: Comparison): readonly Goal[] {
  const ratesOf = (server: ServerName) =>
    measured.find((one) => one.server === server)?.samples.map(({ requestsPerSecond }) => requestsPerSecond);
  const rates = ratesOf('proxy');
  return Object.entries(TARGETS).flatMap(([server, share]): Goal[] => {
    const others = ratesOf(server as ServerName);
    if (rates === undefined || others === undefined) return [];
    const what = `${title}: requests/s through the proxy, as a share of those of ${SERVERS[server as ServerName].title}`;
    return [{ id: 'E1', what, got: median(pairedRatios(rates, others)), bound: 'at least', target: share }];
  });
}
