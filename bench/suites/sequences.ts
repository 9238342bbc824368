// The add-sub model with requests of 16 sequences at once beside the same model with as many ordinary requests.

import { ADD_SUB, binaryRequests, checkRawAnswer, grpcRequestsOf } from '../add-sub-wire.js';
import { askedGrpc, askedHttp } from '../asked-targets.js';
import type { BenchProcess } from '../bench-process.js';
import { chosen } from '../chosen.js';
import { type Comparison, errorsOf, formatComparison, ratioToFloor } from '../comparison.js';
import { formatGoals, type Goal, goalFor, WIRE_TITLES } from '../goals.js';
import { measureInterleaved } from '../interleaved.js';
import type { LoadTarget } from '../load/load-run.js';
import {
  SEQUENCE_LENGTH,
  sequencedBinaryRequests,
  sequencedGrpcRequestsOf,
  valuesOfSequenced,
} from '../sequence-wire.js';
import { StartedProcesses } from '../started-processes.js';
import type { SuiteOptions, SuiteResult } from '../suite.js';

const WIRES = ['http-binary', 'grpc'] as const;
type Wire = (typeof WIRES)[number];

const MODES = ['thread', 'inline'] as const;
const KINDS = ['ordinary', 'sequences'] as const;
type Kind = (typeof KINDS)[number];

/** Each has a sequence of its own. */
const CONNECTIONS = 16;
export async function runSequences(options: SuiteOptions): Promise<SuiteResult> {
  const wires = chosen(WIRES, options.only, '--only');
  const comparisons: Comparison[] = [];
  const goals: Goal[] = [];
  await using processes = new StartedProcesses();
  const generator = await processes.start('./load/load-generator.js', options.pinning.client);
  for (const mode of chosen(MODES, options.servers, '--servers')) {
    const flag = String(mode === 'thread');
    const servers: { readonly name: Kind; readonly server: BenchProcess }[] = [];
    for (const name of KINDS) {
      const more = name === 'sequences' ? ['sequences'] : [];
      servers.push({
        name,
        server: await processes.start('./servers/add-sub-server.js', options.pinning.server, flag, ...more),
      });
    }
    for (const wire of wires) {
      const participants = [];
      for (const { name, server } of servers)
        participants.push({ name, server, target: await targetOf(server, wire, name) });
      const samples = await measureInterleaved(participants, generator, options.timing);
      const comparison: Comparison = {
        id: `${wire} ${mode}`,
        title: `${WIRE_TITLES[wire]}, serverThread: ${flag}, ${CONNECTIONS} sequences of ${SEQUENCE_LENGTH} requests at once`,
        connections: CONNECTIONS,
        base: 'ordinary',
        measured: participants.map(({ name }, i) => ({ server: name, title: name, samples: samples[i]! })),
      };
      comparisons.push(comparison);
      options.print(`${formatComparison(comparison)}\n`);
      const what = `${WIRE_TITLES[wire]}, ${CONNECTIONS} sequences, serverThread: ${flag}: server's CPU a request x an ordinary one`;
      goals.push(goalFor('P24', what, ratioToFloor(comparison, comparison.measured[1]!, 'serverCpuPerRequest').median));
    }
    await Promise.all(servers.map(({ server }) => server.stop()));
  }
  options.print(formatGoals(goals));
  return { comparisons, goals, errors: comparisons.reduce((sum, one) => sum + errorsOf(one), 0) };
}

async function targetOf(server: BenchProcess, wire: Wire, kind: Kind): Promise<LoadTarget> {
  const isSequenced = kind === 'sequences';
  const check = (answer: Buffer, index: number) =>
    checkRawAnswer(answer, isSequenced ? valuesOfSequenced(index) : index);
  const load = { connections: CONNECTIONS, ...(isSequenced && { ownExchanges: SEQUENCE_LENGTH }) };
  if (wire === 'grpc') {
    const messages = (isSequenced ? sequencedGrpcRequestsOf : grpcRequestsOf)(ADD_SUB);
    return { ...(await askedGrpc(server.port('grpcPort'), messages, check)), ...load };
  }
  const place = { port: server.port('httpPort'), path: `/v2/models/${ADD_SUB}/infer` };
  const forms = isSequenced ? sequencedBinaryRequests : binaryRequests;
  return { ...(await askedHttp(place, forms, ({ body }, index) => check(body, index))), ...load };
}
