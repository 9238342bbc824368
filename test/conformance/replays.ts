// The whole comparisons, servers included: what the tests assert and the table of rules counts.
import { devNull } from 'node:os';
import { Triton, type TritonConfig } from 'tstriton';
import { BIND_RULES } from './bind-rules.js';
import { readCases, type BindCase, type GrpcCase, type HttpCase, type SchedulerCase } from './cases.js';
import { bindGrpcModels, GRPC_LOADED_MODELS } from './grpc-models.js';
import { GRPC_RULES, GRPC_RULES_IN_SIMULATED_TIME } from './grpc-rules.js';
import { bindHttpModels, bindPlainModels, HTTP_LOADED_MODELS } from './http-models.js';
import { HTTP_RULES } from './http-rules.js';
import { METRICS_RULES } from './metrics-rules.js';
import { replayBind } from './replay-bind.js';
import { replayGrpc } from './replay-grpc.js';
import { exchange, replayHttp, requestBytes } from './replay-http.js';
import { isOnMetricsPort, replayMetrics } from './replay-metrics.js';
import { replayScheduler } from './replay-scheduler.js';
import type { Replay } from './rules.js';
import { SCHEDULER_RULES } from './scheduler-rules.js';
import { SharedMemoryNames } from './shared-memory-names.js';
import { WatchedCases, type Unread } from './watched-cases.js';
import { GRPC_SHARED_MEMORY, HTTP_SHARED_MEMORY, sharedMemoryObjects } from './shared-memory-objects.js';

export const HTTP_FILES = ['management', 'infer-json', 'infer-binary', 'generate', 'compression'];
export const GRPC_FILES = ['infer', 'management', 'stream'];

export type Replays = Readonly<Record<string, WatchedReplay>>;

/** A replay, and which members of its recordings it did not read. */
export interface WatchedReplay extends Replay {
  readonly unread?: Unread;
}

/** Replays cases and sees what it reads of them. */
export async function watch<Case extends object>(
  recorded: readonly Case[],
  replay: (cases: readonly Case[]) => Promise<Replay>,
): Promise<WatchedReplay> {
  const watched = new WatchedCases(recorded);
  const replayed = await replay(watched.cases);
  return { ...replayed, unread: watched.unread() };
}

// Failing models are part of the cases: their log lines would bury what a test has to say.
const QUIET: TritonConfig = {
  allowHttp: false,
  allowGrpc: false,
  allowMetrics: false,
  logFile: devNull,
};
const CACHE = 'local,size=16777216';
/** Nothing was restricted in the recorded servers, and shared memory was open to clients, unless flags said otherwise. */
const OPEN: TritonConfig = { ...QUIET, restrictedEndpoints: [], allowClientShm: true };
const HTTP: TritonConfig = {
  ...OPEN,
  allowHttp: true,
  httpAddress: '127.0.0.1',
  // An addition of ours, at a path that Triton does not have.
  allowPage: false,
  httpPort: 0,
  cacheConfig: CACHE,
};
const GRPC: TritonConfig = {
  ...OPEN,
  allowGrpc: true,
  grpcAddress: '127.0.0.1',
  grpcPort: 0,
  cacheConfig: CACHE,
};

/** Where a server runs: users get the first unless they ask for the other. */
export const MODES = ['with a thread of its own for the server', "with the server in the user's thread"] as const;
export type ModeName = (typeof MODES)[number];
export type Mode = Pick<TritonConfig, 'serverThread'>;
export type ModeReplays = Readonly<Record<ModeName, Replays>>;

function modeOf(name: ModeName): Mode {
  return { serverThread: name === MODES[0] };
}

/** Replays in both modes, beside each other: most of the time they wait. */
export async function inBothModes(replay: (mode: Mode) => Promise<Replays>): Promise<ModeReplays> {
  const [own, users] = await Promise.all(MODES.map((name) => replay(modeOf(name))));
  return { [MODES[0]]: own, [MODES[1]]: users } as ModeReplays;
}

/** With servers of its own, as in the recordings. */
export async function replayHttpFile(file: string, modeName: ModeName): Promise<WatchedReplay> {
  const mode = modeOf(modeName);
  const servers = {
    main: new Triton({ ...HTTP, ...mode, modelControlMode: 'explicit', loadModel: HTTP_LOADED_MODELS }),
    plain: new Triton({ ...HTTP, ...mode }),
    full: new Triton({
      ...HTTP,
      ...mode,
      httpRestrictedApi: 'statistics,model-repository,trace,logging,shared-memory:admin-key=secret',
      httpHeaderForwardPattern: 'x-fwd-.*',
    }),
  };
  bindHttpModels(servers.main);
  bindPlainModels(servers.plain);
  bindPlainModels(servers.full);
  const names = new SharedMemoryNames();
  using _objects = sharedMemoryObjects(HTTP_SHARED_MEMORY, names);
  try {
    await Promise.all(Object.values(servers).map((triton) => triton.run()));
    if (file === 'management') await askBefore('full', servers.full.httpPort ?? 0);
    const cases = readCases<HttpCase>(`http/${file}.jsonl`).map((testCase) => names.in(testCase));
    const portOf = (testCase: HttpCase) => servers[testCase.server ?? 'main'].httpPort ?? 0;
    return await watch(cases, (watched) => replayHttp(watched, portOf, HTTP_RULES));
  } finally {
    await Promise.all(Object.values(servers).map((triton) => triton.stop()));
  }
}

/** What the recorded server of this name had been asked before, for the sake of its metrics. */
async function askBefore(server: HttpCase['server'], port: number): Promise<void> {
  const asked = readCases<HttpCase>('http/metrics.jsonl').filter(
    (testCase) => testCase.server === server && testCase.model !== null,
  );
  for (const testCase of asked) await exchange(requestBytes(testCase), testCase.request.method, port);
}

/** With a server of its own, as in the recordings; in the user's thread its deadlines come in simulated time. */
export async function replayGrpcFile(file: string, modeName: ModeName): Promise<WatchedReplay> {
  const mode = modeOf(modeName);
  const simulated = mode.serverThread === false;
  const triton = new Triton({ ...GRPC, ...mode, modelControlMode: 'explicit', loadModel: GRPC_LOADED_MODELS });
  let meanwhile: Promise<unknown> = Promise.resolve();
  bindGrpcModels(triton, () => meanwhile);
  const names = new SharedMemoryNames();
  using _objects = sharedMemoryObjects(GRPC_SHARED_MEMORY, names);
  try {
    await triton.run();
    const cases = readCases<GrpcCase>(`grpc/${file}.jsonl`).map((testCase) => names.in(testCase));
    const options = {
      port: triton.grpcPort ?? 0,
      rules: simulated ? GRPC_RULES_IN_SIMULATED_TIME : GRPC_RULES,
      simulated,
      onMeanwhile: (answers: Promise<unknown>) => (meanwhile = answers),
    };
    return await watch(cases, (watched) => replayGrpc(watched, options));
  } finally {
    await triton.stop();
  }
}

/** Servers of their own, with the recorded ones' flags: what was asked before would be counted. */
export async function replayMetricsFile(mode: Mode): Promise<Replays> {
  const config = { ...HTTP, ...mode, allowMetrics: true, metricsPort: 0 };
  const servers = {
    plain: new Triton(config),
    full: new Triton({ ...config, metricsConfig: ['summary_latencies=true', 'histogram_latencies=true'] }),
  };
  const portOf = (testCase: HttpCase) => {
    const triton = servers[testCase.server ?? 'plain'];
    return (isOnMetricsPort(testCase) ? triton.metricsPort : triton.httpPort) ?? 0;
  };
  try {
    for (const triton of Object.values(servers)) {
      bindPlainModels(triton);
      await triton.run();
    }
    const cases = readCases<HttpCase>('http/metrics.jsonl');
    return { metrics: await watch(cases, (watched) => replayMetrics(watched, portOf, METRICS_RULES)) };
  } finally {
    await Promise.all(Object.values(servers).map((triton) => triton.stop()));
  }
}

export async function replayBindFile(mode: Mode): Promise<Replays> {
  const triton = new Triton({ ...HTTP, ...mode });
  try {
    const cases = readCases<BindCase>('pytriton/model-config.jsonl');
    return { 'model-config': await watch(cases, (watched) => replayBind(watched, triton, BIND_RULES)) };
  } finally {
    await triton.stop();
  }
}

/** In simulated time: no server runs. */
export async function replaySchedulerFile(): Promise<Replays> {
  const cases = readCases<SchedulerCase>('scheduler/scenarios.jsonl');
  return { scenarios: await watch(cases, (watched) => replayScheduler(watched, SCHEDULER_RULES)) };
}
