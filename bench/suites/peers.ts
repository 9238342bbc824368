// Add-sub, 2 x FP32 [1,16], on our server beside PyTriton, Triton with its Python backend, Triton's core alone (answers from its
// response cache, so that no model runs) and other Python servers: the same load, in turns, one core for each server.

import * as wire from '../add-sub-wire.js';
import { askedGrpc, askedHttp } from '../asked-targets.js';
import { chosen } from '../chosen.js';
import { errorsOf, formatComparison } from '../comparison.js';
import type { Comparison, Measured } from '../comparison.js';
import { formatGoals, WIRE_TITLES } from '../goals.js';
import { measureInterleaved } from '../interleaved.js';
import type { MeasuredProcess, Participant } from '../interleaved.js';
import type { LoadTarget } from '../load/load-run.js';
import { versionsOf } from '../peers/install-peers.js';
import { startPeer } from '../peers/known-peers.js';
import type { PeerProcessName } from '../peers/known-peers.js';
import { peerGoals } from '../peers/peer-goals.js';
import { StartedProcesses } from '../started-processes.js';
import type { SuiteOptions, SuiteResult } from '../suite.js';
import { REQUESTS } from '../tensor-wire.js';

const WIRES = ['http-binary', 'grpc', 'http-json'] as const;
type Wire = (typeof WIRES)[number];
const CONNECTIONS = [1, 16] as const;

interface Server {
  readonly title: string;
  readonly wires: readonly Wire[];
  /** What is started for it; ours, with these arguments, where there is none. */
  readonly peer?: PeerProcessName;
  readonly flags?: readonly string[];
  readonly model?: string;
}

const ALL: readonly Wire[] = WIRES;
const V2: readonly Wire[] = ['http-binary', 'grpc'];
const JSON_ONLY: readonly Wire[] = ['http-json'];

const SERVERS = {
  thread: { title: 'ours, serverThread: true', wires: ALL, flags: ['true'] },
  inline: { title: 'ours, serverThread: false', wires: ALL, flags: ['false'] },
  alone: { title: 'ours, batching: false', wires: V2, flags: ['true', 'alone'] },
  'alone-inline': { title: 'ours, batching: false, serverThread: false', wires: V2, flags: ['false', 'alone'] },
  'triton-core': { title: "Triton's core, cache hits", wires: V2, peer: 'triton', model: wire.ADD_SUB_CACHED },
  'triton-python': { title: 'Triton, Python backend', wires: V2, peer: 'triton' },
  pytriton: { title: 'PyTriton', wires: V2, peer: 'pytriton' },
  'pytriton-alone': { title: 'PyTriton, no batching', wires: V2, peer: 'pytriton', model: wire.ADD_SUB_ALONE },
  mlserver: { title: 'MLServer', wires: JSON_ONLY, peer: 'mlserver' },
  kserve: { title: 'KServe', wires: JSON_ONLY, peer: 'kserve' },
  litserve: { title: 'LitServe, its own JSON', wires: JSON_ONLY, peer: 'litserve' },
} as const satisfies Record<string, Server>;
type ServerName = keyof typeof SERVERS;

interface Running {
  readonly name: ServerName;
  readonly server: Server;
  readonly process: MeasuredProcess;
  readonly ports: { readonly http: number; readonly grpc: number | undefined };
}

export async function runPeers(options: SuiteOptions): Promise<SuiteResult> {
  const wires = chosen(WIRES, options.only, '--only');
  const names = chosen(Object.keys(SERVERS) as ServerName[], options.servers, '--servers');
  if (!names.includes('thread')) throw new Error('--servers must name thread: the others are compared with it');
  const { print, pinning, timing } = options;
  const comparisons: Comparison[] = [];
  await using processes = new StartedProcesses();
  const generator = await processes.start('./load/load-generator.js', pinning.client);
  const { running, missing } = await startAll(
    names.filter((name) => SERVERS[name].wires.some((one) => wires.includes(one))),
    pinning.server,
    processes,
  );
  for (const line of missing) print(line);
  for (const id of wires) {
    const shared = running.filter(({ server }) => server.wires.includes(id));
    if (shared.length === shared.filter(({ server }) => server.peer === undefined).length) {
      print(`${WIRE_TITLES[id]}: nothing to compare with\n`);
      continue;
    }
    const targets = await Promise.all(shared.map((one) => verifiedTarget(one, id)));
    for (const connections of CONNECTIONS) {
      const participants = shared.map(({ name, process }, i): Participant => {
        return { name, server: process, target: { ...targets[i]!, connections } };
      });
      const samples = await measureInterleaved(participants, generator, timing);
      const measured = shared.map(({ name, server }, i): Measured => {
        return { server: name, title: titleOf(server), samples: samples[i]! };
      });
      const title = `${WIRE_TITLES[id]}, ${connections} connection${connections === 1 ? '' : 's'}`;
      const comparison: Comparison = { id: `${id} ${connections}x1`, title, connections, base: 'ours', measured };
      comparisons.push(comparison);
      print(`${formatComparison(comparison)}\n`);
    }
  }
  await checkCacheWasHit(running);
  const goals = peerGoals(comparisons, WIRE_TITLES);
  print(formatGoals(goals));
  const errors = comparisons.reduce((sum, one) => sum + errorsOf(one), 0);
  return { comparisons, goals, errors, figures: { missing } };
}

function titleOf({ title, peer }: Server): string {
  if (peer === undefined) return title;
  const version = versionsOf(peer === 'pytriton' || peer === 'proxy' ? 'triton' : peer).split(' ')[1]!;
  return peer === 'triton' ? `${title} (of PyTriton ${version})` : `${title} ${version}`;
}

/** Those that cannot be had are named, and the others measured. */
async function startAll(names: readonly ServerName[], cpus: string | undefined, processes: StartedProcesses) {
  const running: Running[] = [];
  const missing: string[] = [];
  const peers = new Map<PeerProcessName, Omit<Running, 'name' | 'server'> | string>();
  for (const name of names) {
    const server: Server = SERVERS[name];
    if (server.peer === undefined) {
      const process = await processes.start('./servers/add-sub-server.js', cpus, ...server.flags!);
      running.push({
        name,
        server,
        process,
        ports: { http: process.port('httpPort'), grpc: process.port('grpcPort') },
      });
      continue;
    }
    if (!peers.has(server.peer)) {
      try {
        const peer = await startPeer(server.peer, cpus);
        processes.add(peer);
        peers.set(server.peer, { process: peer.process, ports: { http: peer.httpPort, grpc: peer.grpcPort } });
      } catch (error) {
        peers.set(server.peer, (error as Error).message);
      }
    }
    const peer = peers.get(server.peer)!;
    if (typeof peer === 'string') missing.push(`not measured: ${server.title}: ${peer}`);
    else running.push({ name, server, ...peer });
  }
  return { running, missing };
}

/** The first time fills a cache. */
async function verifiedTarget(running: Running, id: Wire): Promise<LoadTarget> {
  await askedTarget(running, id);
  return askedTarget(running, id);
}

function askedTarget({ server, ports }: Running, id: Wire): Promise<LoadTarget> {
  const model = server.model ?? wire.ADD_SUB;
  if (id === 'grpc') return askedGrpc(ports.grpc!, wire.grpcRequestsOf(model), wire.checkRawAnswer);
  const isPlain = server.peer === 'litserve';
  const place = { port: ports.http, path: isPlain ? '/predict' : `/v2/models/${model}/infer` };
  if (id === 'http-binary') return askedHttp(place, wire.binaryRequests, ({ body }, k) => wire.checkRawAnswer(body, k));
  const forms = isPlain ? wire.plainJsonRequests : wire.jsonRequests;
  return askedHttp(place, forms, ({ body }, k) => wire.checkJsonAnswer(body, k));
}

/** Otherwise what is called Triton's core would have been its Python backend. */
async function checkCacheWasHit(running: readonly Running[]): Promise<void> {
  const cached = running.find(({ name }) => name === 'triton-core');
  if (!cached) return;
  const answer = await fetch(`http://127.0.0.1:${cached.ports.http}/v2/models/${wire.ADD_SUB_CACHED}/stats`);
  const { model_stats: stats } = (await answer.json()) as {
    readonly model_stats: readonly { readonly inference_count: number; readonly execution_count: number }[];
  };
  const executions = stats[0]!.execution_count;
  if (executions > 4 * REQUESTS)
    throw new Error(`Triton's cache did not answer: its model was executed ${executions} times`);
}
