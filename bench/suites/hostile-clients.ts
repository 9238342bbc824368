// What hostile clients do to a good one: for each attack the good client's times beside those without it, the most memory that
// the server had meanwhile, and what became of the attack. Each has a fresh server.

import { BenchProcess } from '../bench-process.js';
import { chosen } from '../chosen.js';
import { SIEGES, type Target } from '../load/sieges.js';
import { GoodClient, type GoodFigures } from '../load/good-client.js';
import { loadAverage } from '../machine.js';
import { forgetPeak, processMemory } from '../process-memory.js';
import type { SuiteOptions, SuiteResult } from '../suite.js';
import { formatTable } from '../table.js';

const CALM_MS = 3000;
const ATTACK_MS = 10_000;
const QUICK_MS = 1500;
/** Of the server. Clients of its own machine have as many as they like. */
const FILES = 1024;

interface ClientFigures {
  readonly name: string;
  readonly outcome: string;
  readonly before: GoodFigures;
  readonly meanwhile: GoodFigures;
  readonly peak: number;
}

export async function runHostileClients(options: SuiteOptions): Promise<SuiteResult> {
  const names = chosen(Object.keys(SIEGES), options.only, '--only');
  const figures: ClientFigures[] = [];
  // oxlint-disable-next-line no-await-in-loop -- one after the other
  for (const name of names) figures.push(await measure(name, options));
  const rows = figures.map(({ name, outcome, before, meanwhile, peak }) => [
    name,
    before.p99.toFixed(1),
    meanwhile.p50.toFixed(1),
    meanwhile.p99.toFixed(1),
    meanwhile.worst.toFixed(0),
    `${meanwhile.failed}/${meanwhile.requests}`,
    (peak / 1e6).toFixed(0),
    outcome,
  ]);
  const head = ['attack', 'p99 before', 'p50', 'p99 ms', 'worst', 'failed', 'peak RSS MB', 'outcome'];
  options.print(formatTable(head, rows));
  for (const name of names) options.print(`${name}: ${SIEGES[name]!.about}`);
  const errors = figures.reduce((sum, { meanwhile }) => sum + meanwhile.failed, 0);
  return { comparisons: [], goals: [], errors, figures: { loadAverage: loadAverage(), attacks: figures } };
}

async function measure(name: string, { isQuick, pinning }: SuiteOptions): Promise<ClientFigures> {
  const server = await BenchProcess.start(new URL('../servers/hostile-server.js', import.meta.url), {
    cpus: pinning.server,
    files: FILES,
  });
  const attacker = await BenchProcess.start(new URL('../load/besieger.js', import.meta.url), { cpus: undefined });
  try {
    const ports = { http: server.port('http'), grpc: server.port('grpc') };
    const calm = new GoodClient(ports.http);
    await new Promise((resolve) => setTimeout(resolve, isQuick ? QUICK_MS : CALM_MS));
    const before = await calm.stop();
    forgetPeak(server.pid);
    const good = new GoodClient(ports.http);
    const target: Target = { ...ports, milliseconds: isQuick ? QUICK_MS : ATTACK_MS };
    const outcome = (await attacker.load({ name, target }, () => undefined)) as string;
    const meanwhile = await good.stop();
    return { name, outcome, before, meanwhile, peak: processMemory(server.pid).peak };
  } finally {
    await attacker.stop();
    await server.stop();
  }
}
