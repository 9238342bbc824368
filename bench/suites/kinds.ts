// What requests and models cost that are not as the other suites have them: surroundings or lengths that all differ, a model that is
// asynchronous, and one that calls another. Each beside the batching add-sub with requests that are alike.

import { askedGrpc, askedHttp } from '../asked-targets.js';
import type { BenchProcess } from '../bench-process.js';
import { chosen } from '../chosen.js';
import { type Comparison, errorsOf, formatComparison, ratioToFloor } from '../comparison.js';
import { formatGoals, type Goal, goalFor, WIRE_TITLES } from '../goals.js';
import { measureInterleaved } from '../interleaved.js';
import { checkKind, grpcRequestsOf, httpRequestsOf, type Kind } from '../kinds-wire.js';
import type { LoadTarget } from '../load/load-run.js';
import { StartedProcesses } from '../started-processes.js';
import type { SuiteOptions, SuiteResult } from '../suite.js';

const WIRES = ['http-binary', 'grpc'] as const;
type Wire = (typeof WIRES)[number];

const MODES = ['thread', 'inline'] as const;

const CONNECTIONS = 16;

interface Row {
  readonly name: string;
  readonly model: string;
  readonly kind: Kind;
  /** The goal that says how much of the rate of requests that are alike is to be reached. */
  readonly goal?: string;
}

const ROWS: readonly Row[] = [
  { name: 'alike', model: 'Batching', kind: 'alike' },
  {
    name: 'ids, parameters and headers differ',
    model: 'Batching',
    kind: 'surroundings',
    goal: 'P21',
  },
  {
    name: '47 lengths, groupByShape',
    model: 'ByShape',
    kind: 'lengths',
    goal: 'P23',
  },
  { name: '47 lengths, one queue', model: 'Batching', kind: 'lengths' },
  { name: '47 lengths and other ids, groupByShape', model: 'ByShape', kind: 'lengths and ids' },
  { name: 'asynchronous', model: 'Asynchronous', kind: 'alike' },
  {
    name: 'behind another model',
    model: 'Pipeline',
    kind: 'alike',
    goal: 'P25',
  },
];

export async function runKinds(options: SuiteOptions): Promise<SuiteResult> {
  const wires = chosen(WIRES, options.only, '--only');
  const modes = chosen(MODES, options.servers, '--servers');
  const comparisons: Comparison[] = [];
  const goals: Goal[] = [];
  await using processes = new StartedProcesses();
  const generator = await processes.start('./load/load-generator.js', options.pinning.client);
  for (const mode of modes) {
    const flag = String(mode === 'thread');
    const server = await processes.start('./servers/kinds-server.js', options.pinning.server, flag);
    for (const wire of wires) {
      const participants = [];
      for (const row of ROWS) participants.push({ name: row.name, server, target: await targetOf(server, wire, row) });
      const samples = await measureInterleaved(participants, generator, options.timing);
      const comparison: Comparison = {
        id: `${wire} ${mode}`,
        title: `${WIRE_TITLES[wire]}, serverThread: ${flag}, ${CONNECTIONS} connections`,
        connections: CONNECTIONS,
        base: ROWS[0]!.name,
        measured: ROWS.map(({ name }, i) => ({ server: name, title: name, samples: samples[i]! })),
      };
      comparisons.push(comparison);
      options.print(`${formatComparison(comparison)}\n`);
      ROWS.forEach(({ name, goal }, i) => {
        if (goal === undefined) return;
        const what = `${WIRE_TITLES[wire]}, serverThread: ${flag}: req/s of '${name}' x of requests that are alike`;
        const ratio = ratioToFloor(comparison, comparison.measured[i]!, 'requestsPerSecond').median;
        goals.push(goalFor(goal, what, ratio));
      });
    }
    await server.stop();
  }
  options.print(formatGoals(goals));
  return { comparisons, goals, errors: comparisons.reduce((sum, one) => sum + errorsOf(one), 0) };
}

async function targetOf(server: BenchProcess, wire: Wire, { model, kind }: Row): Promise<LoadTarget> {
  const check = (answer: Buffer, index: number) => checkKind(kind, answer, index);
  if (wire === 'grpc') {
    const target = await askedGrpc(server.port('grpcPort'), grpcRequestsOf(model, kind), check);
    return { ...target, connections: CONNECTIONS };
  }
  const place = { port: server.port('httpPort'), path: `/v2/models/${model}/infer` };
  const target = await askedHttp(place, httpRequestsOf(kind), ({ body }, index) => check(body, index));
  return { ...target, connections: CONNECTIONS };
}
