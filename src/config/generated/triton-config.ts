// What users may set of a server: Triton's flags in camelCase. Written from the table in options.ts, by its test.

import type { ExternalLogger } from '../../logger.js';

/** Options of a server. Ports: 0 takes any free one, see `triton.httpPort`. */
export interface TritonConfig {
  /** The server's name in server metadata. Default: `triton`. */
  readonly id?: string;
  /**
   * What serves the models: TSTriton itself, or `tritonserver`, NVIDIA's Triton Inference Server, which hands batches
   * to this process; see docs/tritonserver.md. Default: `tstriton`.
   */
  readonly engine?: 'tstriton' | 'tritonserver';
  /**
   * Path of NVIDIA's tritonserver, for `engine: 'tritonserver'`. Default: `tritonserver` on the PATH, or the one of its
   * container.
   */
  readonly tritonserverPath?: string;
  /**
   * Further flags for `engine: 'tritonserver'`, as it spells them: `--backend-config=…`,
   * `--pinned-memory-pool-byte-size=…`. Default: none.
   */
  readonly tritonserverArgs?: string | readonly string[];
  /** Runs the server in a thread of its own, so that a callable that computes does not stop it. Default: true. */
  readonly serverThread?: boolean;
  /** Whether a model that is not ready keeps the server from being ready. Default: true. */
  readonly strictReadiness?: boolean;
  /**
   * Whether clients are told `internal error` and a number, which the log has with the message, when a callable fails.
   * What it throws for one request, as a `TritonError` with a code other than INTERNAL and UNKNOWN, still reaches that
   * client. Default: false.
   */
  readonly maskErrors?: boolean;
  /**
   * For how long `stop()`, and a signal to `serve()`, go on serving while the server says that it is not ready: load
   * balancers notice, and clients are told to use other connections. With 0, a server that `serve()` runs still serves
   * its open connections for up to half a second. In seconds. Default: 0.
   */
  readonly shutdownDelaySecs?: number;
  /**
   * How long `stop()` lets live sequences end and requests under way finish: until their answers are written whole.
   * Clients that are cut off then are named in the log. In seconds. Default: 30.
   */
  readonly exitTimeoutSecs?: number;
  /** Whether a model that fails to load makes `run()` fail. Default: true. */
  readonly exitOnError?: boolean;
  /**
   * How many connections HTTP, gRPC, Vertex AI and SageMaker may have together; fewer where the process may not open as
   * many files. When there are as many, a new one takes the place of an idle one. One address may have four fifths of
   * the places. Metrics have some of their own. Default: 16384.
   */
  readonly maxConnections?: number;
  /**
   * How many bytes of clients the server holds at once: requests until they are answered, what they inflate to, and
   * answers that are not read. What has come counts, not what is announced. Beyond it requests are refused, over HTTP
   * with 503, over gRPC with RESOURCE_EXHAUSTED. One request may have seven sixteenths. In bytes. Default: a quarter of
   * the memory that the process may have beyond 128 MiB, from 16 MiB to 8 GiB.
   */
  readonly maxInflightBytes?: number;
  /**
   * The names by which HTTP, gRPC, metrics, Vertex AI and SageMaker may be asked (`example.org`, or `.example.org` with
   * all names in it), against DNS rebinding. Addresses and `localhost` always may. Others get 403 or PERMISSION_DENIED.
   * Default: all.
   */
  readonly allowedHosts?: string | readonly string[];
  /** Whether clients may register shared memory of this machine for inputs and outputs. Default: false. */
  readonly allowClientShm?: boolean;
  /** Serves HTTP. Default: true, unless the environment says that Vertex AI hosts the server. */
  readonly allowHttp?: boolean;
  /** The address that the HTTP port listens at. Default: `0.0.0.0`. */
  readonly httpAddress?: string;
  /** The HTTP port. Default: 8000. */
  readonly httpPort?: number;
  /** Largest size of the JSON of a request. In bytes. Default: 67108864. */
  readonly httpMaxInputSize?: number;
  /**
   * Serves a page at `/` of the HTTP port that shows the models, tries them and watches them, see docs/page.md.
   * Default: true, unless `NODE_ENV` is `production`.
   */
  readonly allowPage?: boolean;
  /**
   * HTTP headers whose name matches this regular expression somewhere, whatever the case, reach the callable as
   * parameters. Default: none.
   */
  readonly httpHeaderForwardPattern?: string;
  /**
   * Origins (`https://example.org`) whose pages may call the server from a browser, or `*` for all. Default: none, as
   * Triton's.
   */
  readonly corsAllowOrigin?: string | readonly string[];
  /** Serves HTTP over TLS. The ports of metrics, Vertex AI and SageMaker stay without. Default: false. */
  readonly httpUseSsl?: boolean;
  /** Serves HTTP over TLS to clients whose certificate `httpRootCert` vouches for. Default: false. */
  readonly httpUseSslMutual?: boolean;
  /** Path of the server's certificate, a PEM file; intermediate ones follow it there. Default: none. */
  readonly httpServerCert?: string;
  /** Path of the certificate's private key, a PEM file. Default: none. */
  readonly httpServerKey?: string;
  /** Path of the certificates that vouch for those of clients, a PEM file. Default: none. */
  readonly httpRootCert?: string;
  /** Serves gRPC. Default: true, unless the environment says that Vertex AI hosts the server. */
  readonly allowGrpc?: boolean;
  /** The address that the gRPC port listens at. Default: `0.0.0.0`. */
  readonly grpcAddress?: string;
  /** The gRPC port. Default: 8001. */
  readonly grpcPort?: number;
  /** Largest size of a gRPC message. In bytes. Default: 2147483647. */
  readonly grpcMaxMessageSize?: number;
  /**
   * The same as `httpHeaderForwardPattern` for the metadata of gRPC calls. Those of gRPC and HTTP/2 themselves are not
   * forwarded. Default: none.
   */
  readonly grpcHeaderForwardPattern?: string;
  /** Serves gRPC over TLS. Default: false. */
  readonly grpcUseSsl?: boolean;
  /** Serves gRPC over TLS to clients whose certificate `grpcRootCert` vouches for. Default: false. */
  readonly grpcUseSslMutual?: boolean;
  /** Path of the server's certificate, a PEM file; intermediate ones follow it there. Default: none. */
  readonly grpcServerCert?: string;
  /** Path of the certificate's private key, a PEM file. Default: none. */
  readonly grpcServerKey?: string;
  /** Path of the certificates that vouch for those of clients, a PEM file. Default: none. */
  readonly grpcRootCert?: string;
  /** How hard answers of inference are compressed for clients that accept that. Default: `none`. */
  readonly grpcInferResponseCompressionLevel?: 'none' | 'low' | 'medium' | 'high';
  /** The silence after which a client is pinged. In milliseconds. Default: 7200000. */
  readonly grpcKeepaliveTime?: number;
  /** How long a client has to answer a ping before its connection is closed. In milliseconds. Default: 20000. */
  readonly grpcKeepaliveTimeout?: number;
  /** Whether clients without calls are pinged, and may ping as often as others. Default: false. */
  readonly grpcKeepalivePermitWithoutCalls?: boolean;
  /** How many pings are sent until there is something else to send; 0: any number. Default: 2. */
  readonly grpcHttp2MaxPingsWithoutData?: number;
  /**
   * The least time between pings of a client to which nothing was sent meanwhile. In milliseconds. Default: 300000.
   */
  readonly grpcHttp2MinRecvPingIntervalWithoutData?: number;
  /** How many pings of a client may come sooner before its connection is closed; 0: any number. Default: 2. */
  readonly grpcHttp2MaxPingStrikes?: number;
  /** Serves metrics. Default: true. */
  readonly allowMetrics?: boolean;
  /** The address that the metrics port listens at. Default: the HTTP address. */
  readonly metricsAddress?: string;
  /** The metrics port. Default: 8002. */
  readonly metricsPort?: number;
  /**
   * Triton's settings of metrics: `summary_latencies=true`, `summary_quantiles=0.5:0.05,0.9:0.01`,
   * `histogram_latencies=true`, `counter_latencies=false`. Default: counters alone.
   */
  readonly metricsConfig?: string | readonly string[];
  /** How old figures of the machine's processors and memory may be. In milliseconds. Default: 2000. */
  readonly metricsIntervalMs?: number;
  /** Whether metrics show the machine's processors and memory, where /proc tells them. Default: true. */
  readonly allowCpuMetrics?: boolean;
  /** There are none: what computes on a GPU is the callable's business. True is refused. Default: false. */
  readonly allowGpuMetrics?: boolean;
  /**
   * Which requests are traced, as items of Triton's `--trace-config`: `level=TIMESTAMPS`, `rate=1000`, `count=-1`, and
   * where to: `mode=opentelemetry`, the provider that is registered with `@opentelemetry/api`, or
   * `triton,file=trace.json`, a file; see docs/tracing.md. Default: none.
   */
  readonly traceConfig?: string | readonly string[];
  /**
   * What clients send to reach the restricted endpoints: over HTTP as `triton-access-token`, over gRPC as
   * `triton-grpc-protocol-triton-access-token`. Default: a random one, see `triton.accessToken`.
   */
  readonly accessToken?: string;
  /**
   * Lets other processes bind models through the gRPC port, with `RemoteTriton` or `tstriton serve --remote`, when they
   * have this token. Default: none, and no other process may bind models.
   */
  readonly remoteAccessToken?: string;
  /**
   * Path of a Unix socket where gRPC is served too, for processes of the same machine that bind models: they name it as
   * `unix:` and the path. Needs `remoteAccessToken`. Default: none.
   */
  readonly remoteSocket?: string;
  /**
   * The endpoints that want the access token; an empty list, in text an empty text, opens everything. The others are
   * health, metadata, inference, model-config and statistics. Default: `shared-memory`, `model-repository`, `trace`,
   * `logging`.
   */
  readonly restrictedEndpoints?: string | readonly string[];
  /**
   * Further restrictions of HTTP endpoints, as `api,api:key=value`: requests need a header `key` with that value.
   * Default: none.
   */
  readonly httpRestrictedApi?: string | readonly string[];
  /** The same for gRPC, where the header is `triton-grpc-protocol-key`. Default: none. */
  readonly grpcRestrictedProtocol?: string | readonly string[];
  /** Folders of models in the layout of Triton, see docs/model-repository.md. Default: none. */
  readonly modelRepository?: string | readonly string[];
  /**
   * `explicit` lets clients load and unload models; then only those of `loadModel` are loaded at first. `poll` looks
   * for changes in `modelRepository`. Default: `none`.
   */
  readonly modelControlMode?: 'none' | 'explicit' | 'poll';
  /** Names of the models that are loaded at first, `*` for all. Default: none. */
  readonly loadModel?: string | readonly string[];
  /** How long `poll` waits after it has looked for changes in `modelRepository`. In seconds. Default: 15. */
  readonly repositoryPollSecs?: number;
  /**
   * Whether each ONNX model of `modelRepository` must have a config.pbtxt with its inputs and outputs; false completes
   * what is left out from the file. Default: false.
   */
  readonly disableAutoCompleteConfig?: boolean;
  /**
   * The cache for answers of models with `responseCache: true`, as `local,size=1048576` with its bytes for all of them
   * together. Default: none.
   */
  readonly cacheConfig?: string | readonly string[];
  /** The same as `cacheConfig: 'local,size=…'`. In bytes. Default: none. */
  readonly responseCacheByteSize?: number;
  /** Serves Vertex AI's routes. Default: whether the environment says so (`AIP_MODE=PREDICTION`). */
  readonly allowVertexAi?: boolean;
  /** The port for Vertex AI. Default: `AIP_HTTP_PORT` of the environment, or 8080. */
  readonly vertexAiPort?: number;
  /** The model that predictions of Vertex AI are of. Default: the only one that is loaded. */
  readonly vertexAiDefaultModel?: string;
  /** Serves SageMaker's routes. Default: false. */
  readonly allowSagemaker?: boolean;
  /** The port for SageMaker. Default: 8080. */
  readonly sagemakerPort?: number;
  /** The ports that endpoints other than SageMaker's may have, as `21000-22000`. Default: none. */
  readonly sagemakerSafePortRange?: string;
  /** Whether the log has lines of information. Default: true. */
  readonly logInfo?: boolean;
  /** Whether the log has warnings. Default: true. */
  readonly logWarning?: boolean;
  /** Whether the log has errors. Default: true. */
  readonly logError?: boolean;
  /**
   * Lines as Triton writes them, with the time in one of its formats, or an object of JSON for each entry: `time`,
   * `level`, `pid`, `message`. Default: `default`.
   */
  readonly logFormat?: 'default' | 'ISO8601' | 'json';
  /** The log has verbose lines up to this level; 0: none. Default: 0. */
  readonly logVerbose?: number;
  /** The file that the log is appended to. Default: standard error. */
  readonly logFile?: string;
  /**
   * Gets the entries of the log instead: anything with the methods `debug`, `info`, `warn` and `error`, such as the
   * console or a logger of pino or winston. Default: none.
   */
  readonly logger?: ExternalLogger;
}
