// What hostile traffic costs a good client: its p99 beside each attack, against that beside harmless traffic of as many bytes.
// Good client, attacker and server are processes of their own.

import { askedHttp } from '../asked-targets.js';
import { ATTACKS } from '../attack-wire.js';
import { chosen } from '../chosen.js';
import { formatGoals, goalFor, type Goal } from '../goals.js';
import * as wire from '../identity-wire.js';
import type { AttackOrder, AttackReport } from '../load/striker.js';
import type { LoadReport } from '../load/load-window.js';
import { loadAverage } from '../machine.js';
import { StartedProcesses } from '../started-processes.js';
import { median } from '../statistics.js';
import type { SuiteOptions, SuiteResult } from '../suite.js';
import { formatFigure, formatTable } from '../table.js';

/** Of a good client's p99, beside that with harmless traffic. */

const BLOWS_PER_SECOND = 50;
const LEAD_IN_SECONDS = 0.1;

const KINDS = ['nothing', 'harmless', 'attack'] as const;
type Kind = (typeof KINDS)[number];

interface Round {
  readonly p50: number;
  readonly p99: number;
  readonly errors: number;
  readonly attack: AttackReport | undefined;
}

export async function runAttacks(options: SuiteOptions): Promise<SuiteResult> {
  const names = chosen(
    ATTACKS.map(({ name }) => name),
    options.only,
    '--only',
  );
  const { pinning, timing } = options;
  await using processes = new StartedProcesses();
  const all: { readonly name: string; readonly rounds: Readonly<Record<Kind, Round>>[] }[] = [];
  let errors = 0;
  const server = await processes.start('./servers/identity-server.js', pinning.server, 'true');
  const client = await processes.start('./load/load-generator.js', pinning.client);
  const attacker = await processes.start('./load/striker.js', pinning.client);
  const ports = { http: server.port('httpPort'), grpc: server.port('grpcPort') };
  const path = `/v2/models/${wire.MODEL}/infer`;
  const target = await askedHttp({ port: ports.http, path }, wire.binaryRequests, wire.checkBinaryAnswer);
  const measure = async (name: string, kind: Kind, seconds: number): Promise<Round> => {
    const order: AttackOrder = {
      name,
      isHarmless: kind === 'harmless',
      ports,
      perSecond: BLOWS_PER_SECOND,
      seconds: seconds + LEAD_IN_SECONDS,
    };
    const attacking = kind === 'nothing' ? undefined : (attacker.load(order, () => undefined) as Promise<AttackReport>);
    const loading = client.load({ target, leadInSeconds: LEAD_IN_SECONDS, seconds }, () => undefined);
    const [attack, { p50, p99, errors }] = await Promise.all([attacking, loading as Promise<LoadReport>]);
    return { p50, p99, errors, attack };
  };
  for (const kind of KINDS) await measure(names[0]!, kind, timing.warmUpSeconds);
  for (const name of names) {
    const rounds: Record<Kind, Round>[] = [];
    for (let round = 0; round < timing.rounds; round++) {
      const one: Partial<Record<Kind, Round>> = {};
      for (const kind of KINDS) one[kind] = await measure(name, kind, timing.seconds);
      rounds.push(one as Record<Kind, Round>);
    }
    errors += rounds.reduce((sum, one) => sum + KINDS.reduce((more, kind) => more + one[kind].errors, 0), 0);
    all.push({ name, rounds });
  }
  const figures = all.map(({ name, rounds }) => ({ ...figuresOf(name, rounds), rounds }));
  const head = ['attack', 'p99 us alone', 'harmless', 'attack', 'x harmless', 'p50 x harmless', 'connections', ''];
  const rows = figures.map(({ name, p99, costs, p50Costs, connections }) => [
    name,
    ...KINDS.map((kind) => formatFigure(p99[kind])),
    formatFigure(costs),
    formatFigure(p50Costs),
    String(connections),
    ATTACKS.find((attack) => attack.name === name)!.about,
  ]);
  options.print(
    `A good client's p99 (HTTP binary, 1 connection), ${BLOWS_PER_SECOND} blows a second\n${formatTable(head, rows)}`,
  );
  const goals = figures.map(({ name, costs }): Goal => {
    const what = `a good client's p99 beside ${name}, x that beside harmless traffic`;
    return goalFor('R3', what, costs);
  });
  options.print(formatGoals(goals));
  return { comparisons: [], goals, errors, figures: { loadAverage: loadAverage(), attacks: figures } };
}

function figuresOf(name: string, rounds: readonly Readonly<Record<Kind, Round>>[]) {
  const middle = (kind: Kind, figure: 'p50' | 'p99') => median(rounds.map((one) => one[kind][figure]));
  const ratio = (figure: 'p50' | 'p99') =>
    median(rounds.map(({ attack, harmless }) => attack[figure] / harmless[figure]));
  const p99 = {
    nothing: middle('nothing', 'p99'),
    harmless: middle('harmless', 'p99'),
    attack: middle('attack', 'p99'),
  };
  const connections = median(rounds.map(({ attack }) => attack.attack?.connections ?? 0));
  return { name, p99, costs: ratio('p99'), p50Costs: ratio('p50'), connections };
}
