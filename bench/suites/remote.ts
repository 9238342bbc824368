// The add-sub model with its instance in a process of its own beside the same model in a thread: what the link costs.

import { ADD_SUB, binaryRequests, checkRawAnswer, grpcRequestsOf } from '../add-sub-wire.js';
import { askedGrpc, askedHttp } from '../asked-targets.js';
import { BenchProcess } from '../bench-process.js';
import { chosen } from '../chosen.js';
import { type Comparison, errorsOf, formatComparison, ratioToFloor } from '../comparison.js';
import { formatGoals, type Goal } from '../goals.js';
import { measureInterleaved, type Participant } from '../interleaved.js';
import type { LoadTarget } from '../load/load-run.js';
import type { SuiteOptions, SuiteResult } from '../suite.js';

const WIRES = ['http-binary', 'grpc'] as const;
type Wire = (typeof WIRES)[number];
const WIRE_TITLES: Readonly<Record<Wire, string>> = { 'http-binary': 'HTTP binary', grpc: 'gRPC' };

/** The connections that the goal is for, and how much of the rate of a thread is to be reached. */
const GOAL_CONNECTIONS = 16;
const LEAST = 0.7;
const TOKEN = 'of the benchmark';

export async function runRemote(options: SuiteOptions): Promise<SuiteResult> {
  const wires = chosen(WIRES, options.only, '--only');
  const started: BenchProcess[] = [];
  const comparisons: Comparison[] = [];
  const goals: Goal[] = [];
  const start = async (module: string, cpus: string | undefined, ...parameters: string[]): Promise<BenchProcess> => {
    const one = await BenchProcess.start(new URL(module, import.meta.url), { cpus, arguments: parameters });
    started.push(one);
    return one;
  };
  try {
    const generator = await start('../load/load-generator.js', options.pinning.client);
    const { server } = options.pinning;
    const thread = await start('../servers/placed-add-sub-server.js', server, 'thread');
    const linked = await start('../servers/placed-add-sub-server.js', server, TOKEN);
    await start('../servers/remote-add-sub.js', server, String(linked.port('grpcPort')), TOKEN);
    for (const wire of wires) {
      for (const connections of options.connections) {
        const participants: Participant[] = [];
        for (const [name, one] of [['thread', thread] as const, ['remote', linked] as const]) {
          participants.push({ name, server: one, target: await verifiedTarget(one, wire, connections) });
        }
        const samples = await measureInterleaved(participants, generator, options.timing);
        const comparison: Comparison = {
          id: `${wire} ${connections}`,
          title: `${WIRE_TITLES[wire]}, ${connections} connection${connections === 1 ? '' : 's'}; CPU of the server's process`,
          connections,
          base: 'thread',
          measured: participants.map(({ name }, i) => ({ server: name, title: name, samples: samples[i]! })),
        };
        comparisons.push(comparison);
        options.print(`${formatComparison(comparison)}\n`);
        if (connections === GOAL_CONNECTIONS) goals.push(goalOf(comparison, wire));
      }
    }
  } finally {
    // The process of the model first: it says goodbye.
    for (const one of started.reverse()) await one.stop();
  }
  options.print(formatGoals(goals));
  return { comparisons, goals, errors: comparisons.reduce((sum, one) => sum + errorsOf(one), 0) };
}

function goalOf(comparison: Comparison, wire: Wire): Goal {
  return {
    id: 'remote',
    what: `${WIRE_TITLES[wire]}, ${GOAL_CONNECTIONS} connections: req/s of an instance in another process x that of one in a thread`,
    got: ratioToFloor(comparison, comparison.measured[1]!, 'requestsPerSecond').median,
    bound: 'at least',
    target: LEAST,
  };
}

async function verifiedTarget(one: BenchProcess, wire: Wire, connections: number): Promise<LoadTarget> {
  if (wire === 'grpc') {
    const target = await askedGrpc(one.port('grpcPort'), grpcRequestsOf(ADD_SUB), checkRawAnswer);
    return { ...target, connections };
  }
  const place = { port: one.port('httpPort'), path: `/v2/models/${ADD_SUB}/infer` };
  const target = await askedHttp(place, binaryRequests, ({ body }, k) => checkRawAnswer(body, k));
  return { ...target, connections };
}
