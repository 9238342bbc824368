// The one table of the server's options, in the groups of the reference page. The checks of values, the variables of the
// environment, the defaults, the type `TritonConfig` and the reference page are all made from it. A new option is an entry
// here, and the place where it is used.

import { invalidArg, TritonError } from '../errors.js';
import { LOG_FORMATS } from '../logger.js';
import { nearest } from '../checks/nearest.js';
import { COMPRESSION_LEVELS } from '../protocol/grpc/message-compression.js';
import { defaultInflightBytes } from './default-inflight-bytes.js';
import type { TritonConfig } from './generated/triton-config.js';
import type { OptionKind } from './option-value.js';
import { parseHosts } from './parse-hosts.js';
import { parseMetricsConfig } from './parse-metrics-config.js';
import { parseOrigins } from './parse-origins.js';
import { parseTraceConfig } from './parse-trace-config.js';

/** What the environment says beside the variables of the options. */
export interface Surroundings {
  /** In its own environment Vertex AI is the only one to call, unless the others are asked for. */
  readonly prediction: boolean;
  readonly vertexAiPort: number;
  /** Whether the process serves people in earnest: `NODE_ENV=production`. */
  readonly production: boolean;
}

type Value = string | number | boolean;

export interface Option {
  readonly kind: OptionKind;
  readonly unit?: 'bytes' | 'milliseconds' | 'seconds';
  /** Absent: the option has no value when nobody gives one, and a list has no entries. */
  readonly default?: Value | ((given: TritonConfig, surroundings: Surroundings) => Value);
  /** The default in words, where its value does not say it. */
  readonly defaultText?: string;
  /** What the entries of a list come to. Throws INVALID_ARG or UNSUPPORTED. */
  readonly parse?: (entries: readonly string[], option: string) => unknown;
  /** One or two sentences for the reference page and the docstring. */
  readonly effect: string;
  /** Another name that variables of the environment may have it by. */
  readonly alias?: string;
}

export const PORT = [0, 65_535] as const;
const SIZE = [1, 2_147_483_647] as const;
const MEGABYTE = 2 ** 20;
const COUNT = [0, 2_147_483_647] as const;

export const OPTION_GROUPS = {
  Server: {
    id: { kind: 'string', default: 'triton', effect: "The server's name in server metadata." },
    engine: {
      kind: { choices: ['tstriton', 'tritonserver'] },
      default: 'tstriton',
      effect:
        "What serves the models: TSTriton itself, or `tritonserver`, NVIDIA's Triton Inference Server, which hands batches to this process; see docs/tritonserver.md.",
    },
    tritonserverPath: {
      kind: 'string',
      defaultText: '`tritonserver` on the PATH, or the one of its container',
      effect: "Path of NVIDIA's tritonserver, for `engine: 'tritonserver'`.",
    },
    tritonserverArgs: {
      kind: { separator: ';' },
      parse: (given: readonly string[]) => given,
      effect:
        "Further flags for `engine: 'tritonserver'`, as it spells them: `--backend-config=…`, `--pinned-memory-pool-byte-size=…`.",
    },
    serverThread: {
      kind: 'boolean',
      default: true,
      effect: 'Runs the server in a thread of its own, so that a callable that computes does not stop it.',
    },
    strictReadiness: {
      kind: 'boolean',
      default: true,
      effect: 'Whether a model that is not ready keeps the server from being ready.',
    },
    maskErrors: {
      kind: 'boolean',
      default: false,
      effect:
        'Whether clients are told `internal error` and a number, which the log has with the message, when a callable fails. What it throws for one request, as a `TritonError` with a code other than INTERNAL and UNKNOWN, still reaches that client.',
    },
    shutdownDelaySecs: {
      kind: [0, 2_147_483],
      unit: 'seconds',
      default: 0,
      effect:
        'For how long `stop()`, and a signal to `serve()`, go on serving while the server says that it is not ready: load balancers notice, and clients are told to use other connections. With 0, a server that `serve()` runs still serves its open connections for up to half a second.',
    },
    exitTimeoutSecs: {
      kind: [0, 2_147_483],
      unit: 'seconds',
      default: 30,
      effect:
        'How long `stop()` lets live sequences end and requests under way finish: until their answers are written whole. Clients that are cut off then are named in the log.',
    },
    exitOnError: {
      kind: 'boolean',
      default: true,
      effect: 'Whether a model that fails to load makes `run()` fail.',
    },
    maxConnections: {
      kind: [1, 1_000_000],
      default: 16_384,
      effect:
        'How many connections HTTP, gRPC, Vertex AI and SageMaker may have together; fewer where the process may not open as many files. When there are as many, a new one takes the place of an idle one. One address may have four fifths of the places. Metrics have some of their own.',
    },
    maxInflightBytes: {
      kind: [MEGABYTE, Number.MAX_SAFE_INTEGER],
      unit: 'bytes',
      default: () => defaultInflightBytes(),
      defaultText: 'a quarter of the memory that the process may have beyond 128 MiB, from 16 MiB to 8 GiB',
      effect:
        'How many bytes of clients the server holds at once: requests until they are answered, what they inflate to, and answers that are not read. What has come counts, not what is announced. Beyond it requests are refused, over HTTP with 503, over gRPC with RESOURCE_EXHAUSTED. One request may have seven sixteenths.',
    },
    allowedHosts: {
      kind: { separator: ',' },
      parse: parseHosts,
      defaultText: 'all',
      effect:
        'The names by which HTTP, gRPC, metrics, Vertex AI and SageMaker may be asked (`example.org`, or `.example.org` with all names in it), against DNS rebinding. Addresses and `localhost` always may. Others get 403 or PERMISSION_DENIED.',
    },
    allowClientShm: {
      kind: 'boolean',
      default: false,
      effect: 'Whether clients may register shared memory of this machine for inputs and outputs.',
    },
  },
  HTTP: {
    allowHttp: {
      kind: 'boolean',
      default: (_, { prediction }) => !prediction,
      defaultText: 'true, unless the environment says that Vertex AI hosts the server',
      effect: 'Serves HTTP.',
    },
    httpAddress: { kind: 'string', default: '0.0.0.0', effect: 'The address that the HTTP port listens at.' },
    httpPort: { kind: PORT, default: 8000, effect: 'The HTTP port.' },
    httpMaxInputSize: {
      kind: SIZE,
      unit: 'bytes',
      default: 67_108_864,
      effect: 'Largest size of the JSON of a request.',
    },
    allowPage: {
      kind: 'boolean',
      default: (_, { production }) => !production,
      defaultText: 'true, unless `NODE_ENV` is `production`',
      effect:
        'Serves a page at `/` of the HTTP port that shows the models, tries them and watches them, see docs/page.md.',
    },
    httpHeaderForwardPattern: {
      kind: 'string',
      effect:
        'HTTP headers whose name matches this regular expression somewhere, whatever the case, reach the callable as parameters.',
    },
    corsAllowOrigin: {
      kind: { separator: ',' },
      parse: parseOrigins,
      defaultText: "none, as Triton's",
      effect: 'Origins (`https://example.org`) whose pages may call the server from a browser, or `*` for all.',
    },
    httpUseSsl: {
      kind: 'boolean',
      default: false,
      effect: 'Serves HTTP over TLS. The ports of metrics, Vertex AI and SageMaker stay without.',
    },
    httpUseSslMutual: {
      kind: 'boolean',
      default: false,
      effect: 'Serves HTTP over TLS to clients whose certificate `httpRootCert` vouches for.',
    },
    httpServerCert: {
      kind: 'string',
      effect: "Path of the server's certificate, a PEM file; intermediate ones follow it there.",
    },
    httpServerKey: { kind: 'string', effect: "Path of the certificate's private key, a PEM file." },
    httpRootCert: {
      kind: 'string',
      effect: 'Path of the certificates that vouch for those of clients, a PEM file.',
    },
  },
  gRPC: {
    allowGrpc: {
      kind: 'boolean',
      default: (_, { prediction }) => !prediction,
      defaultText: 'true, unless the environment says that Vertex AI hosts the server',
      effect: 'Serves gRPC.',
    },
    grpcAddress: { kind: 'string', default: '0.0.0.0', effect: 'The address that the gRPC port listens at.' },
    grpcPort: { kind: PORT, default: 8001, effect: 'The gRPC port.' },
    grpcMaxMessageSize: {
      kind: SIZE,
      unit: 'bytes',
      default: 2_147_483_647,
      effect: 'Largest size of a gRPC message.',
    },
    grpcHeaderForwardPattern: {
      kind: 'string',
      effect:
        'The same as `httpHeaderForwardPattern` for the metadata of gRPC calls. Those of gRPC and HTTP/2 themselves are not forwarded.',
    },
    grpcUseSsl: { kind: 'boolean', default: false, effect: 'Serves gRPC over TLS.' },
    grpcUseSslMutual: {
      kind: 'boolean',
      default: false,
      effect: 'Serves gRPC over TLS to clients whose certificate `grpcRootCert` vouches for.',
    },
    grpcServerCert: {
      kind: 'string',
      effect: "Path of the server's certificate, a PEM file; intermediate ones follow it there.",
    },
    grpcServerKey: { kind: 'string', effect: "Path of the certificate's private key, a PEM file." },
    grpcRootCert: {
      kind: 'string',
      effect: 'Path of the certificates that vouch for those of clients, a PEM file.',
    },
    grpcInferResponseCompressionLevel: {
      kind: { choices: COMPRESSION_LEVELS },
      default: 'none',
      effect: 'How hard answers of inference are compressed for clients that accept that.',
    },
    grpcKeepaliveTime: {
      kind: SIZE,
      unit: 'milliseconds',
      default: 7_200_000,
      effect: 'The silence after which a client is pinged.',
    },
    grpcKeepaliveTimeout: {
      kind: SIZE,
      unit: 'milliseconds',
      default: 20_000,
      effect: 'How long a client has to answer a ping before its connection is closed.',
    },
    grpcKeepalivePermitWithoutCalls: {
      kind: 'boolean',
      default: false,
      effect: 'Whether clients without calls are pinged, and may ping as often as others.',
    },
    grpcHttp2MaxPingsWithoutData: {
      kind: COUNT,
      default: 2,
      effect: 'How many pings are sent until there is something else to send; 0: any number.',
    },
    grpcHttp2MinRecvPingIntervalWithoutData: {
      kind: COUNT,
      unit: 'milliseconds',
      default: 300_000,
      effect: 'The least time between pings of a client to which nothing was sent meanwhile.',
    },
    grpcHttp2MaxPingStrikes: {
      kind: COUNT,
      default: 2,
      effect: 'How many pings of a client may come sooner before its connection is closed; 0: any number.',
    },
  },
  'Metrics and traces': {
    allowMetrics: { kind: 'boolean', default: true, effect: 'Serves metrics.' },
    metricsAddress: {
      kind: 'string',
      default: ({ httpAddress = '0.0.0.0' }) => httpAddress,
      defaultText: 'the HTTP address',
      effect: 'The address that the metrics port listens at.',
    },
    metricsPort: { kind: PORT, default: 8002, effect: 'The metrics port.' },
    metricsConfig: {
      kind: { separator: ';' },
      parse: parseMetricsConfig,
      defaultText: 'counters alone',
      effect:
        "Triton's settings of metrics: `summary_latencies=true`, `summary_quantiles=0.5:0.05,0.9:0.01`, `histogram_latencies=true`, `counter_latencies=false`.",
    },
    metricsIntervalMs: {
      kind: SIZE,
      unit: 'milliseconds',
      default: 2000,
      effect: "How old figures of the machine's processors and memory may be.",
    },
    allowCpuMetrics: {
      kind: 'boolean',
      default: true,
      effect: "Whether metrics show the machine's processors and memory, where /proc tells them.",
    },
    allowGpuMetrics: {
      kind: 'boolean',
      default: false,
      effect: "There are none: what computes on a GPU is the callable's business. True is refused.",
    },
    traceConfig: {
      kind: { separator: ';' },
      parse: parseTraceConfig,
      effect:
        "Which requests are traced, as items of Triton's `--trace-config`: `level=TIMESTAMPS`, `rate=1000`, `count=-1`, and where to: `mode=opentelemetry`, the provider that is registered with `@opentelemetry/api`, or `triton,file=trace.json`, a file; see docs/tracing.md.",
    },
  },
  'Restricted endpoints': {
    accessToken: {
      kind: 'string',
      defaultText: 'a random one, see `triton.accessToken`',
      effect:
        'What clients send to reach the restricted endpoints: over HTTP as `triton-access-token`, over gRPC as `triton-grpc-protocol-triton-access-token`.',
    },
    remoteAccessToken: {
      kind: 'string',
      defaultText: 'none, and no other process may bind models',
      effect:
        'Lets other processes bind models through the gRPC port, with `RemoteTriton` or `tstriton serve --remote`, when they have this token.',
    },
    remoteSocket: {
      kind: 'string',
      defaultText: 'none',
      effect:
        'Path of a Unix socket where gRPC is served too, for processes of the same machine that bind models: they name it as `unix:` and the path. Needs `remoteAccessToken`.',
    },
    restrictedEndpoints: {
      kind: { separator: ',' },
      defaultText: '`shared-memory`, `model-repository`, `trace`, `logging`',
      effect:
        'The endpoints that want the access token; an empty list, in text an empty text, opens everything. The others are health, metadata, inference, model-config and statistics.',
    },
    httpRestrictedApi: {
      kind: { separator: ';' },
      effect:
        'Further restrictions of HTTP endpoints, as `api,api:key=value`: requests need a header `key` with that value.',
    },
    grpcRestrictedProtocol: {
      kind: { separator: ';' },
      effect: 'The same for gRPC, where the header is `triton-grpc-protocol-key`.',
    },
  },
  Models: {
    modelRepository: {
      kind: { separator: ';' },
      parse: modelRepositories,
      effect: 'Folders of models in the layout of Triton, see docs/model-repository.md.',
    },
    modelControlMode: {
      kind: { choices: ['none', 'explicit', 'poll'] },
      default: 'none',
      effect:
        '`explicit` lets clients load and unload models; then only those of `loadModel` are loaded at first. `poll` looks for changes in `modelRepository`.',
    },
    loadModel: {
      kind: { separator: ',' },
      parse: parseModelNames,
      effect: 'Names of the models that are loaded at first, `*` for all.',
    },
    repositoryPollSecs: {
      kind: [1, 2_147_483],
      unit: 'seconds',
      default: 15,
      effect: 'How long `poll` waits after it has looked for changes in `modelRepository`.',
    },
    disableAutoCompleteConfig: {
      kind: 'boolean',
      default: false,
      effect:
        'Whether each ONNX model of `modelRepository` must have a config.pbtxt with its inputs and outputs; false completes what is left out from the file.',
    },
    cacheConfig: {
      kind: { separator: ';' },
      effect:
        'The cache for answers of models with `responseCache: true`, as `local,size=1048576` with its bytes for all of them together.',
    },
    responseCacheByteSize: {
      kind: [1, Number.MAX_SAFE_INTEGER],
      unit: 'bytes',
      effect: "The same as `cacheConfig: 'local,size=…'`.",
    },
  },
  'Vertex AI and SageMaker': {
    allowVertexAi: {
      kind: 'boolean',
      default: (_, { prediction }) => prediction,
      defaultText: 'whether the environment says so (`AIP_MODE=PREDICTION`)',
      effect: "Serves Vertex AI's routes.",
    },
    vertexAiPort: {
      kind: PORT,
      default: (_, { vertexAiPort }) => vertexAiPort,
      defaultText: '`AIP_HTTP_PORT` of the environment, or 8080',
      effect: 'The port for Vertex AI.',
    },
    vertexAiDefaultModel: {
      kind: 'string',
      defaultText: 'the only one that is loaded',
      effect: 'The model that predictions of Vertex AI are of.',
    },
    allowSagemaker: { kind: 'boolean', default: false, effect: "Serves SageMaker's routes." },
    sagemakerPort: { kind: PORT, default: 8080, effect: 'The port for SageMaker.' },
    sagemakerSafePortRange: {
      kind: 'string',
      effect: "The ports that endpoints other than SageMaker's may have, as `21000-22000`.",
    },
  },
  Log: {
    logInfo: { kind: 'boolean', default: true, effect: 'Whether the log has lines of information.' },
    logWarning: { kind: 'boolean', default: true, effect: 'Whether the log has warnings.' },
    logError: { kind: 'boolean', default: true, effect: 'Whether the log has errors.' },
    logFormat: {
      kind: { choices: LOG_FORMATS },
      default: 'default',
      effect:
        'Lines as Triton writes them, with the time in one of its formats, or an object of JSON for each entry: `time`, `level`, `pid`, `message`.',
    },
    logVerbose: {
      kind: COUNT,
      default: 0,
      effect: 'The log has verbose lines up to this level; 0: none.',
      // PyTriton's documentation calls it so.
      alias: 'logVerbosity',
    },
    logFile: { kind: 'string', defaultText: 'standard error', effect: 'The file that the log is appended to.' },
    logger: {
      kind: 'logger',
      effect:
        'Gets the entries of the log instead: anything with the methods `debug`, `info`, `warn` and `error`, such as the console or a logger of pino or winston.',
    },
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, Option>>>>;

type Groups = typeof OPTION_GROUPS;
type Entries = UnionToIntersection<Groups[keyof Groups]>;
type UnionToIntersection<U> = (U extends unknown ? (member: U) => void : never) extends (all: infer I) => void
  ? I
  : never;

export type OptionName = keyof Entries;

/** Every option by its name. */
export const OPTIONS: { readonly [N in OptionName]: Entries[N] } = Object.assign({}, ...Object.values(OPTION_GROUPS));

const NO_BACKENDS = 'models run in Node, there are no shared libraries to look for';
const NO_GPU_MEMORY = "memory of a GPU is the callable's business";
const ONE_LOOP = "the server's thread serves all connections from one event loop";
const BY_TRACE_CONFIG = 'Triton itself has replaced it by traceConfig';

/** Triton's and PyTriton's options that this version does not serve, each with the reason: refused by name. */
export const REFUSED_OPTIONS: Readonly<Record<string, string>> = {
  modelStore: 'Triton itself has replaced it by modelRepository',
  strictModelConfig: 'Triton itself has replaced it by disableAutoCompleteConfig',
  modelLoadThreadCount: 'models load side by side, as many as there are',
  modelLoadRetryCount: 'a failed load is reported at once; whoever supervises the server starts it again',
  modelNamespacing: 'a name and version stands for one model',
  httpThreadCount: ONE_LOOP,
  sagemakerThreadCount: ONE_LOOP,
  vertexAiThreadCount: ONE_LOOP,
  reuseHttpPort: 'one server listens at a port; several are put behind a load balancer',
  reuseGrpcPort: 'one server listens at a port; several are put behind a load balancer',
  grpcInferAllocationPoolSize: 'messages are garbage-collected, there is no pool of them',
  grpcMaxConnectionAge: 'clients are asked for new connections when the server shuts down, not before',
  grpcMaxConnectionAgeGrace: 'clients are asked for new connections when the server shuts down, not before',
  cacheDirectory: 'the response cache is built in, there are no shared libraries of caches',
  backendDirectory: NO_BACKENDS,
  backendConfig: NO_BACKENDS,
  repoagentDirectory: NO_BACKENDS,
  rateLimit: 'instances run as soon as they are free; `concurrency` of a model limits its batches',
  rateLimitResource: 'instances run as soon as they are free; `concurrency` of a model limits its batches',
  bufferManagerThreadCount: 'tensors are handed over without copies that threads could share',
  hostPolicy: 'the operating system places threads; start the server under numactl or taskset',
  pinnedMemoryPoolByteSize: NO_GPU_MEMORY,
  cudaMemoryPoolByteSize: NO_GPU_MEMORY,
  cudaVirtualAddressSize: NO_GPU_MEMORY,
  minSupportedComputeCapability: NO_GPU_MEMORY,
  modelLoadGpuLimit: NO_GPU_MEMORY,
  traceFile: BY_TRACE_CONFIG,
  traceLevel: BY_TRACE_CONFIG,
  traceRate: BY_TRACE_CONFIG,
  traceCount: BY_TRACE_CONFIG,
  traceLogFrequency: BY_TRACE_CONFIG,
};

export function isOption(name: string): name is OptionName {
  return Object.hasOwn(OPTIONS, name);
}

/** Throws UNSUPPORTED for an option of Triton's that there is not; `given` is what the user wrote. */
export function refuseUnsupported(name: string, given: string): void {
  if (!Object.hasOwn(REFUSED_OPTIONS, name)) return;
  throw new TritonError('UNSUPPORTED', `${given} is not supported by TSTriton: ${REFUSED_OPTIONS[name]}`);
}

/** The option that somebody may have meant. */
export function nearestOption(name: string): OptionName | undefined {
  return nearest(name, Object.keys(OPTIONS)) as OptionName | undefined;
}

/** Options whose last word is the name: `port` may mean `httpPort`. */
export function optionsEndingWith(name: string): readonly string[] {
  const word = name.charAt(0).toUpperCase() + name.slice(1);
  return name === '' ? [] : Object.keys(OPTIONS).filter((option) => option.endsWith(word));
}

function modelRepositories(paths: readonly string[]): readonly string[] {
  return paths;
}

function parseModelNames(names: readonly string[]): readonly string[] {
  if (names.length < 2 || !names.includes('*')) return names;
  throw invalidArg("loadModel must be '*' alone or names of models, got both");
}
