// The add-sub model with its instance in a process of its own beside the same model in a thread: what the link costs.

import { addSubTarget } from '../add-sub-target.js';
import { chosen } from '../chosen.js';
import { type Comparison, errorsOf, formatComparison, ratioToFloor } from '../comparison.js';
import { formatGoals, type Goal, goalFor, WIRE_TITLES } from '../goals.js';
import { measureInterleaved, type Participant } from '../interleaved.js';
import { StartedProcesses } from '../started-processes.js';
import type { SuiteOptions, SuiteResult } from '../suite.js';

const WIRES = ['http-binary', 'grpc'] as const;
type Wire = (typeof WIRES)[number];

/** The connections that the goal is for. */
const GOAL_CONNECTIONS = 16;
const TOKEN = 'of the benchmark';

export async function runRemote(options: SuiteOptions): Promise<SuiteResult> {
  const wires = chosen(WIRES, options.only, '--only');
  const comparisons: Comparison[] = [];
  const goals: Goal[] = [];
  await using processes = new StartedProcesses();
  const generator = await processes.start('./load/load-generator.js', options.pinning.client);
  const { server } = options.pinning;
  const thread = await processes.start('./servers/placed-add-sub-server.js', server, 'thread');
  const linked = await processes.start('./servers/placed-add-sub-server.js', server, TOKEN);
  // The process of the model ends first: it says goodbye.
  await using binder = new StartedProcesses();
  await binder.start('./servers/remote-add-sub.js', server, String(linked.port('grpcPort')), TOKEN);
  for (const wire of wires) {
    for (const connections of options.connections) {
      const participants: Participant[] = [];
      for (const [name, one] of [['thread', thread] as const, ['remote', linked] as const]) {
        participants.push({ name, server: one, target: await addSubTarget(one, wire, connections) });
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
  options.print(formatGoals(goals));
  return { comparisons, goals, errors: comparisons.reduce((sum, one) => sum + errorsOf(one), 0) };
}

function goalOf(comparison: Comparison, wire: Wire): Goal {
  const what = `${WIRE_TITLES[wire]}, ${GOAL_CONNECTIONS} connections: req/s of an instance in another process x that of one in a thread`;
  return goalFor('remote', what, ratioToFloor(comparison, comparison.measured[1]!, 'requestsPerSecond').median);
}
