// What our own load generator says of small requests, said by wrk and h2load: identity beside the floors, and add-sub beside
// PyTriton.

import * as addSub from '../add-sub-wire.js';
import { askedGrpc, askedHttp } from '../asked-targets.js';
import { chosen } from '../chosen.js';
import { FLOOR_BINARY_PATH } from '../floor/floor-paths.js';
import { formatGoals, goalFor, type Goal } from '../goals.js';
import * as identity from '../identity-wire.js';
import { isInstalled, loadByH2load, loadByWrk, type OtherReport } from '../load/other-loads.js';
import { startPeer } from '../peers/known-peers.js';
import { StartedProcesses } from '../started-processes.js';
import { median, pairedRatios } from '../statistics.js';
import type { SuiteOptions, SuiteResult } from '../suite.js';
import { formatFigure, formatTable } from '../table.js';

const WIRES = { 'http-binary': { title: 'HTTP binary', by: 'wrk' }, grpc: { title: 'gRPC', by: 'h2load' } } as const;
type Wire = keyof typeof WIRES;

const CONNECTIONS = 16;
const GRPC_PATH = '/inference.GRPCInferenceService/ModelInfer';

interface Server {
  readonly name: string;
  readonly title: string;
  readonly http: number;
  readonly grpc: number;
  /** Where it takes HTTP. */
  readonly path: string;
}

interface Compared {
  /** The first one is what the others are compared with. */
  readonly servers: readonly Server[];
  readonly work: 'identity' | 'add-sub';
}

export async function runOtherLoads(options: SuiteOptions): Promise<SuiteResult> {
  const wires = chosen(Object.keys(WIRES) as Wire[], options.only, '--only').filter((wire) => {
    const { by } = WIRES[wire];
    if (!isInstalled(by)) options.print(`not measured: ${WIRES[wire].title}: ${by} is not installed`);
    return isInstalled(by);
  });
  const goals: Goal[] = [];
  const figures: object[] = [];
  let errors = 0;
  for (const work of ['identity', 'add-sub'] as const) {
    await using processes = new StartedProcesses();
    const compared = wires.length === 0 ? undefined : await startServers(work, options, processes);
    if (compared === undefined) continue;
    for (const wire of wires) {
      const reports = await measure(compared, wire, options);
      errors += reports.flat().reduce((sum, report) => sum + report.errors, 0);
      figures.push({ work, wire, servers: compared.servers.map(({ name }) => name), reports });
      options.print(`${formatReports(compared, wire, reports)}\n`);
      goals.push(...goalsOf(compared, wire, reports));
    }
  }
  options.print(formatGoals(goals));
  return { comparisons: [], goals, errors, figures };
}

async function startServers(
  work: Compared['work'],
  { pinning, print }: SuiteOptions,
  processes: StartedProcesses,
): Promise<Compared | undefined> {
  const model = work === 'identity' ? identity.MODEL : addSub.ADD_SUB;
  const path = `/v2/models/${model}/infer`;
  const ours = async (name: string, flag: string): Promise<Server> => {
    const started = await processes.start(`./servers/${work}-server.js`, pinning.server, flag);
    const title = `ours, serverThread: ${flag}`;
    return { name, title, http: started.port('httpPort'), grpc: started.port('grpcPort'), path };
  };
  let base: Server;
  if (work === 'identity') {
    const http = await processes.start('./floor/http-floor.js', pinning.server);
    const grpc = await processes.start('./floor/grpc-floor.js', pinning.server);
    const ports = { http: http.port('httpPort'), grpc: grpc.port('grpcPort') };
    base = { name: 'floor', title: 'floor', ...ports, path: FLOOR_BINARY_PATH };
  } else {
    try {
      const peer = await startPeer('pytriton', pinning.server);
      processes.add(peer);
      base = { name: 'pytriton', title: 'PyTriton', http: peer.httpPort, grpc: peer.grpcPort!, path };
    } catch (error) {
      print(`not measured: PyTriton: ${(error as Error).message}`);
      return undefined;
    }
  }
  return { work, servers: [base, await ours('thread', 'true'), await ours('inline', 'false')] };
}

/** Rounds of each server, in turns, after one that does not count. */
async function measure({ servers, work }: Compared, wire: Wire, options: SuiteOptions): Promise<OtherReport[][]> {
  const { timing, pinning } = options;
  const reports: OtherReport[][] = servers.map(() => []);
  for (const server of servers) await checkAnswer(server, work, wire);
  for (let round = -1; round < timing.rounds; round++) {
    for (const [i, server] of servers.entries()) {
      const seconds = Math.max(1, Math.round(round < 0 ? timing.warmUpSeconds : timing.seconds));
      const load = { connections: CONNECTIONS, seconds, cpus: pinning.client };
      const report =
        wire === 'grpc'
          ? await loadByH2load(`http://127.0.0.1:${server.grpc}${GRPC_PATH}`, messagesOf(work)[0]!, load)
          : await loadByWrk(`http://127.0.0.1:${server.http}${server.path}`, formsOf(work), load);
      if (round >= 0) reports[i]!.push(report);
    }
  }
  return reports;
}

const formsOf = (work: Compared['work']) => (work === 'identity' ? identity.binaryRequests : addSub.binaryRequests);
const messagesOf = (work: Compared['work']) =>
  work === 'identity' ? identity.grpcRequests : addSub.grpcRequestsOf(addSub.ADD_SUB);

/** These programs do not look at answers. */
async function checkAnswer({ name, http, grpc, path }: Server, work: Compared['work'], wire: Wire): Promise<void> {
  if (name === 'floor') return;
  if (wire === 'grpc') {
    await askedGrpc(grpc, messagesOf(work), work === 'identity' ? identity.checkGrpcAnswer : addSub.checkRawAnswer);
    return;
  }
  await askedHttp({ port: http, path }, formsOf(work), (answer, k) =>
    work === 'identity' ? identity.checkBinaryAnswer(answer, k) : addSub.checkRawAnswer(answer.body, k),
  );
}

const ratesOf = (reports: readonly OtherReport[]) => reports.map(({ requestsPerSecond }) => requestsPerSecond);

function formatReports({ servers, work }: Compared, wire: Wire, reports: readonly OtherReport[][]): string {
  const rows = servers.map(({ title }, i) => {
    const ratio = median(pairedRatios(ratesOf(reports[i]!), ratesOf(reports[0]!)));
    const failed = reports[i]!.reduce((sum, { errors }) => sum + errors, 0);
    return [title, formatFigure(median(ratesOf(reports[i]!))), formatFigure(ratio), String(failed)];
  });
  const title = `${work}, ${WIRES[wire].title}, ${CONNECTIONS} connections, by ${WIRES[wire].by}`;
  return `${title}\n${formatTable(['server', 'req/s', `x ${servers[0]!.title}`, 'errors'], rows)}`;
}

function goalsOf({ servers, work }: Compared, wire: Wire, reports: readonly OtherReport[][]): readonly Goal[] {
  const id = work === 'add-sub' ? 'P15' : wire === 'grpc' ? 'P1' : 'P4';
  const what = `${WIRES[wire].title} 16x1, serverThread: true, by ${WIRES[wire].by}: req/s x ${servers[0]!.title}`;
  return [goalFor(id, what, median(pairedRatios(ratesOf(reports[1]!), ratesOf(reports[0]!))))];
}
