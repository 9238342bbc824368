// The add-sub model with requests that run alone beside the same model in batches: what is lost where nothing can be batched.

import { addSubTarget } from '../add-sub-target.js';
import { chosen } from '../chosen.js';
import { type Comparison, errorsOf, formatComparison, ratioToFloor } from '../comparison.js';
import { formatGoals, type Goal, goalFor, WIRE_TITLES } from '../goals.js';
import { measureInterleaved, type Participant } from '../interleaved.js';
import { StartedProcesses } from '../started-processes.js';
import type { SuiteOptions, SuiteResult } from '../suite.js';

const WIRES = ['http-binary', 'grpc'] as const;
type Wire = (typeof WIRES)[number];

const MODES = ['thread', 'inline'] as const;
type Mode = (typeof MODES)[number];

/** The connections that the goals are for. */
const GOAL_CONNECTIONS = 16;

export async function runUnbatched(options: SuiteOptions): Promise<SuiteResult> {
  const wires = chosen(WIRES, options.only, '--only');
  const modes = chosen(MODES, options.servers, '--servers');
  const comparisons: Comparison[] = [];
  const goals: Goal[] = [];
  await using processes = new StartedProcesses();
  const generator = await processes.start('./load/load-generator.js', options.pinning.client);
  for (const mode of modes) {
    const flag = String(mode === 'thread');
    const { server } = options.pinning;
    await using servers = new StartedProcesses();
    const batching = await servers.start('./servers/add-sub-server.js', server, flag);
    const alone = await servers.start('./servers/add-sub-server.js', server, flag, 'alone');
    for (const wire of wires) {
      for (const connections of options.connections) {
        const participants: Participant[] = [];
        for (const [name, one] of [['batching', batching] as const, ['alone', alone] as const]) {
          participants.push({ name, server: one, target: await addSubTarget(one, wire, connections) });
        }
        const samples = await measureInterleaved(participants, generator, options.timing);
        const comparison: Comparison = {
          id: `${wire} ${mode} ${connections}`,
          title: `${WIRE_TITLES[wire]}, serverThread: ${flag}, ${connections} connection${connections === 1 ? '' : 's'}`,
          connections,
          base: 'batching',
          measured: participants.map(({ name }, i) => ({ server: name, title: name, samples: samples[i]! })),
        };
        comparisons.push(comparison);
        options.print(`${formatComparison(comparison)}\n`);
        if (connections === GOAL_CONNECTIONS) goals.push(goalOf(comparison, wire, mode));
      }
    }
  }
  options.print(formatGoals(goals));
  return { comparisons, goals, errors: comparisons.reduce((sum, one) => sum + errorsOf(one), 0) };
}

function goalOf(comparison: Comparison, wire: Wire, mode: Mode): Goal {
  const what = `${WIRE_TITLES[wire]}, ${GOAL_CONNECTIONS} connections, serverThread: ${mode === 'thread'}: req/s without batching x with it`;
  return goalFor('P22', what, ratioToFloor(comparison, comparison.measured[1]!, 'requestsPerSecond').median);
}
