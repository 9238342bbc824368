// Add-sub in JSON: the model's own route beside the protocol's, on the server's port and mounted in an application on node:http, and
// the servers that people would write instead. And what an open page and streamed chats cost.

import * as wire from '../add-sub-wire.js';
import { askedHttp } from '../asked-targets.js';
import { chosen } from '../chosen.js';
import { type Comparison, errorsOf, formatComparison, type Measured, ratioToFloor } from '../comparison.js';
import { formatGoals, goalFor, type Goal } from '../goals.js';
import { measureInterleaved, type MeasuredProcess, type Participant } from '../interleaved.js';
import { chatRate, pageCost } from '../page-and-chat.js';
import { versionsOf } from '../peers/install-peers.js';
import { startPeer } from '../peers/known-peers.js';
import { StartedProcesses } from '../started-processes.js';
import { median } from '../statistics.js';
import type { SuiteOptions, SuiteResult } from '../suite.js';

const ROWS = ['http', 'page', 'chat'] as const;
const CONNECTIONS = 16;

interface Server {
  readonly title: string;
  /** Arguments of our server, or the name of another one. The one by hand shows what node:http leaves for a mounted model. */
  readonly started: readonly string[] | 'by-hand' | 'fetch-by-hand' | 'fastapi' | 'litserve';
  readonly path: string;
}

const ROUTE = '/predict';
const INFER = `/v2/models/${wire.ADD_SUB}/infer`;

const SERVERS = {
  route: { title: 'own route', started: ['true'], path: ROUTE },
  infer: { title: 'infer in JSON', started: ['true'], path: INFER },
  'route-inline': { title: 'own route, serverThread: false', started: ['false'], path: ROUTE },
  'infer-inline': { title: 'infer in JSON, serverThread: false', started: ['false'], path: INFER },
  'route-mounted': { title: 'own route in node:http', started: ['false', 'mounted'], path: ROUTE },
  'infer-mounted': { title: 'infer in JSON in node:http', started: ['false', 'mounted'], path: INFER },
  'by-hand': { title: 'node:http by hand', started: 'by-hand', path: ROUTE },
  'route-fetch': { title: 'own route as a Fetch handler', started: ['false', 'fetch'], path: ROUTE },
  'fetch-by-hand': { title: 'Fetch handler by hand', started: 'fetch-by-hand', path: ROUTE },
  fastapi: { title: 'FastAPI and numpy', started: 'fastapi', path: ROUTE },
  litserve: { title: 'LitServe', started: 'litserve', path: ROUTE },
} as const satisfies Record<string, Server>;
type ServerName = keyof typeof SERVERS;

/** How many times the rate of the second the first is to have. */
const GOALS: readonly (readonly [id: string, one: ServerName, other: ServerName, least: number])[] = [
  ['route', 'route', 'infer', 1],
  ['route', 'route-inline', 'infer-inline', 1],
  ['mounted', 'route-mounted', 'route-inline', 0.9],
  ['mounted', 'infer-mounted', 'infer-inline', 0.9],
  ['mounted', 'route-mounted', 'by-hand', 0.9],
  ['mounted', 'route-fetch', 'fetch-by-hand', 0.9],
  ['fastapi', 'route', 'fastapi', 5],
  ['litserve', 'route', 'litserve', 5],
];

export async function runRoutes(options: SuiteOptions): Promise<SuiteResult> {
  const rows = chosen(ROWS, options.only, '--only');
  const routes = rows.includes('http') ? await measureRoutes(options) : { comparisons: [], goals: [], errors: 0 };
  const web = rows.filter((row) => row !== 'http');
  const more = web.length > 0 ? await measureWeb(web, options) : [];
  const goals = [...routes.goals, ...more];
  options.print(formatGoals(goals));
  return { ...routes, goals };
}

async function measureWeb(rows: readonly string[], { isQuick, pinning }: SuiteOptions): Promise<Goal[]> {
  await using processes = new StartedProcesses();
  const goals: Goal[] = [];
  for (const flag of ['true', 'false']) {
    const process = await processes.start('./servers/web-server.js', pinning.server, flag);
    const port = process.port('httpPort');
    const mode = `serverThread: ${flag}`;
    if (rows.includes('page')) {
      const got = 100 * (await pageCost(process, port, isQuick ? 2 : 10));
      goals.push(goalFor('page', `% of a core for an open page, three models, ${mode}`, got));
    }
    if (rows.includes('chat')) {
      const tokens = isQuick ? 20_000 : 200_000;
      const rates: number[] = [];
      for (let i = 0; i < (isQuick ? 1 : 5); i++) rates.push(await chatRate(process, port, tokens));
      goals.push(goalFor('chat', `tokens/s a core in one streamed chat, ${mode}`, median(rates)));
    }
  }
  return goals;
}

async function measureRoutes(options: SuiteOptions): Promise<SuiteResult> {
  const names = chosen(Object.keys(SERVERS) as ServerName[], options.servers, '--servers');
  const { pinning, print, timing } = options;
  const missing: string[] = [];
  await using processes = new StartedProcesses();
  const generator = await processes.start('./load/load-generator.js', pinning.client);
  const started = new Map<string, { readonly process: MeasuredProcess; readonly port: number }>();
  const running: { readonly name: ServerName; readonly participant: Participant }[] = [];
  for (const name of names) {
    const server: Server = SERVERS[name];
    const key = String(server.started);
    try {
      if (!started.has(key)) started.set(key, await start(server, processes, pinning.server));
    } catch (error) {
      print(missing[missing.push(`not measured: ${server.title}: ${(error as Error).message}`) - 1]!);
      continue;
    }
    const { process, port } = started.get(key)!;
    const forms = server.path === ROUTE ? wire.plainJsonRequests : wire.jsonRequests;
    const target = await askedHttp({ port, path: server.path }, forms, ({ body }, k) => wire.checkJsonAnswer(body, k));
    running.push({ name, participant: { name, server: process, target: { ...target, connections: CONNECTIONS } } });
  }
  const samples = await measureInterleaved(
    running.map(({ participant }) => participant),
    generator,
    timing,
  );
  const measured = running.map(({ name }, i): Measured => {
    return { server: name, title: titleOf(SERVERS[name]), samples: samples[i]! };
  });
  const base = measured[0]!.server;
  const title = `HTTP JSON, ${CONNECTIONS} connections`;
  const comparison: Comparison = { id: 'routes', title, connections: CONNECTIONS, base, measured };
  print(`${formatComparison(comparison)}\n`);
  const goals = GOALS.flatMap(([id, one, other, least]) => goalOf({ id, one, other, least }, comparison));
  return { comparisons: [comparison], goals, errors: errorsOf(comparison), figures: { missing } };
}

function titleOf({ title, started }: Server): string {
  return started === 'fastapi' || started === 'litserve' ? `${title}, ${versionsOf(started)}` : title;
}

async function start({ started }: Server, processes: StartedProcesses, cpus: string | undefined) {
  if (started !== 'fastapi' && started !== 'litserve') {
    const process = Array.isArray(started)
      ? await processes.start('./servers/routes-server.js', cpus, ...(started as readonly string[]))
      : await processes.start('./floor/add-sub-floor.js', cpus, ...(started === 'fetch-by-hand' ? ['fetch'] : []));
    return { process, port: process.port('httpPort') };
  }
  const peer = await startPeer(started, cpus);
  processes.add(peer);
  return { process: peer.process, port: peer.httpPort };
}

interface Wanted {
  readonly id: string;
  readonly one: ServerName;
  readonly other: ServerName;
  readonly least: number;
}

/** None where one of the two was not measured. */
function goalOf({ id, one, other, least }: Wanted, comparison: Comparison): Goal[] {
  const [first, second] = [one, other].map((name) => comparison.measured.find(({ server }) => server === name));
  if (first === undefined || second === undefined) return [];
  const got = ratioToFloor({ ...comparison, measured: [second, first] }, first, 'requestsPerSecond').median;
  return [{ id, what: `req/s of ${first.title} x of ${second.title}`, got, bound: 'at least', target: least }];
}
