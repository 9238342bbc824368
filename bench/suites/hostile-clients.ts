// What hostile clients do to a good one: for each attack the good client's times beside those without it, the most memory that
// the server had meanwhile, how much of it was left some seconds later, and what became of the attack. Each has a fresh server, in
// both thread modes. Of a server that gives large memory back at once, and of one in 512 MiB, `--servers` has the names.

import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { BenchProcess } from '../bench-process.js';
import { chosen } from '../chosen.js';
import { SIEGES, type Target } from '../load/sieges.js';
import { GoodClient, type GoodFigures } from '../load/good-client.js';
import { loadAverage } from '../machine.js';
import { forgetPeak, processMemory } from '../process-memory.js';
import { StartedProcesses } from '../started-processes.js';
import type { SuiteOptions, SuiteResult } from '../suite.js';
import { formatTable } from '../table.js';

const CALM_MS = 3000;
const ATTACK_MS = 10_000;
const QUICK_MS = 1500;
/** Of the server. Clients of its own machine have as many as they like. */
const FILES = 1024;

/** After an attack. */
const REST_MS = 5000;
const GROUP_BYTES = 512 * 2 ** 20;

interface Mode {
  readonly serverThread: boolean;
  /** In a control group of 512 MiB, with the default `maxInflightBytes`. `MEMORY_GROUPS` names the folder of groups. */
  readonly isLimited?: boolean;
  readonly environment?: Readonly<Record<string, string>>;
}

const MODES = {
  thread: { serverThread: true },
  inline: { serverThread: false },
  // glibc then returns large memory to the system when it is freed. The image in deploy/ sets these.
  'thread-returning': {
    serverThread: true,
    environment: { MALLOC_MMAP_THRESHOLD_: '1048576', MALLOC_TRIM_THRESHOLD_: '16777216' },
  },
  'thread-512': { serverThread: true, isLimited: true },
  'inline-512': { serverThread: false, isLimited: true },
} as const satisfies Record<string, Mode>;
type ModeName = keyof typeof MODES;
const NAMES = Object.keys(MODES) as ModeName[];
const USUAL: readonly ModeName[] = ['thread', 'inline'];

interface ClientFigures {
  readonly name: string;
  readonly mode: ModeName;
  readonly outcome: string;
  readonly before: GoodFigures;
  readonly meanwhile: GoodFigures;
  /** Bytes: at most, and some seconds after the attack. */
  readonly peak: number;
  readonly rested: number;
}

export async function runHostileClients(options: SuiteOptions): Promise<SuiteResult> {
  const names = chosen(Object.keys(SIEGES), options.only, '--only');
  const modes = chosen(NAMES, options.servers, '--servers', USUAL);
  const figures: ClientFigures[] = [];
  // oxlint-disable-next-line no-await-in-loop -- one after the other
  for (const name of names) for (const mode of modes) figures.push(await measure(name, mode, options));
  const rows = figures.map(({ name, mode, outcome, before, meanwhile, peak, rested }) => [
    name,
    mode,
    before.p99.toFixed(1),
    meanwhile.p50.toFixed(1),
    meanwhile.p99.toFixed(1),
    meanwhile.worst.toFixed(0),
    `${meanwhile.failed}/${meanwhile.requests}`,
    (peak / 1e6).toFixed(0),
    (rested / 1e6).toFixed(0),
    outcome,
  ]);
  const head = [
    'attack',
    'server',
    'p99 before',
    'p50',
    'p99 ms',
    'worst',
    'failed',
    'peak RSS MB',
    'rested',
    'outcome',
  ];
  options.print(formatTable(head, rows));
  for (const name of names) options.print(`${name}: ${SIEGES[name]!.about}`);
  for (const { name, mode, meanwhile } of figures)
    if (meanwhile.reason !== undefined) options.print(`${name}, ${mode}: ${meanwhile.reason}`);
  const errors = figures.reduce((sum, { meanwhile }) => sum + meanwhile.failed, 0);
  return { comparisons: [], goals: [], errors, figures: { loadAverage: loadAverage(), attacks: figures } };
}

async function measure(name: string, mode: ModeName, { isQuick, pinning }: SuiteOptions): Promise<ClientFigures> {
  const { serverThread, isLimited = false, environment = {} }: Mode = MODES[mode];
  await using processes = new StartedProcesses();
  using group = isLimited ? memoryGroup() : undefined;
  using tls = SIEGES[name]!.isSecure === true ? certificate() : undefined;
  const server = await BenchProcess.start(new URL('../servers/hostile-server.js', import.meta.url), {
    cpus: pinning.server,
    files: FILES,
    arguments: [String(serverThread), isLimited ? 'default' : 'large', ...(tls === undefined ? [] : ['tls'])],
    environment: tls === undefined ? environment : { ...environment, TLS_FOLDER: tls.folder },
    ...(group === undefined ? {} : { group: group.processes }),
  });
  processes.add(server);
  const attacker = await processes.start('./load/besieger.js', undefined);
  const ports = { http: server.port('http'), grpc: server.port('grpc') };
  const goodPorts = { ...ports, ca: tls?.cert };
  const calm = new GoodClient(goodPorts);
  await new Promise((resolve) => setTimeout(resolve, isQuick ? QUICK_MS : CALM_MS));
  const before = await calm.stop();
  forgetPeak(server.pid);
  const good = new GoodClient(goodPorts);
  const target: Target = { ...ports, milliseconds: isQuick ? QUICK_MS : ATTACK_MS };
  const outcome = (await attacker.load({ name, target }, () => undefined)) as string;
  const meanwhile = await good.stop();
  const { peak } = processMemory(server.pid);
  await new Promise((resolve) => setTimeout(resolve, isQuick ? QUICK_MS : REST_MS));
  const rested = processMemory(server.pid).resident;
  // Its group ends before the other processes do.
  if (group !== undefined) await server.stop();
  return { name, mode, outcome, before, meanwhile, peak, rested };
}

/** A limit of the kernel, of either version of control groups. */
function memoryGroup() {
  const groups = process.env['MEMORY_GROUPS'];
  if (groups === undefined) throw new Error('MEMORY_GROUPS must name the folder of control groups with a memory limit');
  const folder = join(groups, `tstriton-bench-${process.pid}`);
  mkdirSync(folder);
  const v1 = join(folder, 'memory.limit_in_bytes');
  writeFileSync(existsSync(v1) ? v1 : join(folder, 'memory.max'), String(GROUP_BYTES));
  return { processes: join(folder, 'cgroup.procs'), [Symbol.dispose]: () => rmdirSync(folder) };
}

/** For the server's ports, of `openssl`. */
function certificate() {
  const folder = mkdtempSync(join(tmpdir(), 'tstriton-bench-'));
  const path = join(folder, 'cert.pem');
  const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-subj', '/CN=localhost'];
  const names = ['-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'];
  const files = ['-keyout', join(folder, 'key.pem'), '-out', path];
  execFileSync('openssl', ['req', ...kind, ...names, ...files], { stdio: 'pipe' });
  const remove = () => rmSync(folder, { recursive: true });
  return { folder, cert: readFileSync(path, 'utf8'), [Symbol.dispose]: remove };
}
