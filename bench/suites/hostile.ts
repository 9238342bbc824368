// What one request can do to everybody else at the default limits: for each of the hostile requests how long it held the
// server's event loop at most, how late health checks were answered meanwhile, and how much memory it took.

import { hostileRequests, lengthOf } from '../hostile-requests.js';
import { sendHostile } from '../load/hostile-client.js';
import { loadAverage } from '../machine.js';
import type { HostileReport } from '../servers/hostile-server.js';
import { StartedProcesses } from '../started-processes.js';
import type { SuiteOptions, SuiteResult } from '../suite.js';
import { formatGoals, type Goal } from '../goals.js';
import { formatTable } from '../table.js';

/** What the design allows. */
const GOAL_MS = 50;
const PROBE_INTERVAL_MS = 5;

interface HostileFigures extends HostileReport {
  readonly name: string;
  readonly bytes: number;
  readonly outcome: string;
  readonly milliseconds: number;
  /** The slowest answer to a health check, in milliseconds. */
  readonly health: number;
}

export async function runHostile(options: SuiteOptions): Promise<SuiteResult> {
  const { isQuick } = options; // then with a sixteenth of what is large
  const requests = hostileRequests(isQuick ? 1 / 16 : 1).filter(({ name }) => options.only?.includes(name) ?? true);
  await using processes = new StartedProcesses();
  const server = await processes.start('./servers/hostile-server.js', options.pinning.server);
  const figures: HostileFigures[] = [];
  const look = () => server.load({}, () => undefined) as Promise<HostileReport>;
  for (const request of requests) {
    await look();
    const probe = new HealthProbe(server.port('http'));
    const begin = performance.now();
    const { protocol, handler = protocol, times = 1 } = request;
    const port = server.port(handler);
    const outcomes = await Promise.all(Array.from({ length: times }, () => sendHostile(request, port)));
    const milliseconds = performance.now() - begin;
    const health = await probe.stop();
    const { stall, peak } = await look();
    const bytes = lengthOf(request.body) * times;
    const outcome = [...new Set(outcomes)].join(', ');
    figures.push({ name: request.name, bytes, outcome, milliseconds, health, stall, peak });
  }
  const about = new Map(requests.map((request) => [request.name, request.about]));
  const rows = figures.map(({ name, bytes, outcome, milliseconds, health, stall, peak }) => [
    name,
    (bytes / 1e6).toFixed(1),
    outcome,
    milliseconds.toFixed(0),
    stall.toFixed(1),
    health.toFixed(1),
    (peak / 1e6).toFixed(0),
    about.get(name)!,
  ]);
  const head = ['request', 'MB', 'answer', 'took ms', 'loop held ms', 'health ms', 'peak RSS MB', ''];
  options.print(formatTable(head, rows));
  const worst = Math.max(...figures.map(({ stall }) => stall));
  const goals: Goal[] = [
    {
      id: 'R11',
      what: "one request holds the server's loop: ms at most",
      got: worst,
      bound: 'at most',
      target: GOAL_MS,
    },
  ];
  options.print(formatGoals(goals));
  return { comparisons: [], goals, errors: 0, figures: { loadAverage: loadAverage(), requests: figures } };
}

/** Asks for health all the time, one question after the other. */
class HealthProbe {
  readonly #url: string;
  readonly #ended: Promise<void>;
  #worst = 0;
  #stopped = false;

  constructor(port: number) {
    this.#url = `http://127.0.0.1:${port}/v2/health/live`;
    this.#ended = this.#run();
  }

  /** The slowest answer. */
  async stop(): Promise<number> {
    this.#stopped = true;
    await this.#ended;
    return this.#worst;
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      const begin = performance.now();
      await (await fetch(this.#url)).arrayBuffer();
      this.#worst = Math.max(this.#worst, performance.now() - begin);
      await new Promise((resolve) => setTimeout(resolve, PROBE_INTERVAL_MS));
    }
  }
}
