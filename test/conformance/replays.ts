// The whole comparisons, servers included: what the tests assert and the table of rules counts.
import { devNull } from 'node:os';
import { Triton, type TritonConfig } from 'tstriton';
import { BIND_RULES } from './bind-rules.js';
import { readCases, type BindCase, type GrpcCase, type HttpCase, type SchedulerCase } from './cases.js';
import { bindGrpcModels, GRPC_LOADED_MODELS } from './grpc-models.js';
import { GRPC_RULES } from './grpc-rules.js';
import { bindHttpModels, bindPlainModels, HTTP_LOADED_MODELS } from './http-models.js';
import { HTTP_RULES } from './http-rules.js';
import { METRICS_RULES } from './metrics-rules.js';
import { replayBind } from './replay-bind.js';
import { replayGrpc } from './replay-grpc.js';
import { replayHttp } from './replay-http.js';
import { isOnMetricsPort, replayMetrics } from './replay-metrics.js';
import { replayScheduler } from './replay-scheduler.js';
import type { Replay } from './rules.js';
import { SCHEDULER_RULES } from './scheduler-rules.js';
import { GRPC_SHARED_MEMORY, HTTP_SHARED_MEMORY, sharedMemoryObjects } from './shared-memory-objects.js';

export type Replays = Readonly<Record<string, Replay>>;

// Failing models are part of the cases: their log lines would bury what a test has to say.
const QUIET: TritonConfig = {
  allowHttp: false,
  allowGrpc: false,
  allowMetrics: false,
  serverThread: false,
  logFile: devNull,
};
const CACHE = 'local,size=16777216';
/** Nothing was restricted in the recorded servers, and shared memory was open to clients, unless flags said otherwise. */
const OPEN: TritonConfig = { ...QUIET, restrictedEndpoints: [], allowClientShm: true };
const HTTP: TritonConfig = {
  ...OPEN,
  allowHttp: true,
  httpAddress: '127.0.0.1',
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

/** One set of servers for all files, as in the recordings: the cases of a file follow those of the one before. */
export async function replayHttpFiles(): Promise<Replays> {
  const servers = {
    main: new Triton({ ...HTTP, modelControlMode: 'explicit', loadModel: HTTP_LOADED_MODELS }),
    plain: new Triton(HTTP),
    full: new Triton({
      ...HTTP,
      httpRestrictedApi: 'statistics,model-repository,trace,logging,shared-memory:admin-key=secret',
      httpHeaderForwardPattern: 'x-fwd-.*',
    }),
  };
  bindHttpModels(servers.main);
  bindPlainModels(servers.plain);
  bindPlainModels(servers.full);
  using _shared = sharedMemoryObjects(HTTP_SHARED_MEMORY);
  try {
    await Promise.all(Object.values(servers).map((triton) => triton.run()));
    const replays: Record<string, Replay> = {};
    for (const file of ['management', 'infer-json', 'infer-binary', 'generate', 'compression']) {
      const cases = readCases<HttpCase>(`http/${file}.jsonl`);
      replays[file] = await replayHttp(
        cases,
        (testCase) => servers[testCase.server ?? 'main'].httpPort ?? 0,
        HTTP_RULES,
      );
    }
    return replays;
  } finally {
    await Promise.all(Object.values(servers).map((triton) => triton.stop()));
  }
}

/** A server of its own for each file, as in the recordings. */
export async function replayGrpcFiles(): Promise<Replays> {
  const replays: Record<string, Replay> = {};
  for (const file of ['infer', 'management', 'stream']) {
    const triton = new Triton({ ...GRPC, modelControlMode: 'explicit', loadModel: GRPC_LOADED_MODELS });
    bindGrpcModels(triton);
    using _shared = sharedMemoryObjects(GRPC_SHARED_MEMORY);
    try {
      await triton.run();
      replays[file] = await replayGrpc(readCases<GrpcCase>(`grpc/${file}.jsonl`), triton.grpcPort ?? 0, GRPC_RULES);
    } finally {
      await triton.stop();
    }
  }
  return replays;
}

/** Servers of their own, with the recorded ones' flags: what was asked before would be counted. */
export async function replayMetricsFile(): Promise<Replays> {
  const config = { ...HTTP, allowMetrics: true, metricsPort: 0 };
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
    return { metrics: await replayMetrics(cases, portOf, [...METRICS_RULES, ...HTTP_RULES]) };
  } finally {
    await Promise.all(Object.values(servers).map((triton) => triton.stop()));
  }
}

export async function replayBindFile(): Promise<Replays> {
  const triton = new Triton(HTTP);
  try {
    return { 'model-config': await replayBind(readCases<BindCase>('pytriton/model-config.jsonl'), triton, BIND_RULES) };
  } finally {
    await triton.stop();
  }
}

/** In simulated time: no server runs. */
export async function replaySchedulerFile(): Promise<Replays> {
  return { scenarios: await replayScheduler(readCases<SchedulerCase>('scheduler/scenarios.jsonl'), SCHEDULER_RULES) };
}
