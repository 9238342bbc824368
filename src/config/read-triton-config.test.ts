import { describe, expect, it } from 'vitest';

import { defaultInflightBytes } from './default-inflight-bytes.js';
import { readTritonConfig } from './read-triton-config.js';
import type { TritonConfig } from './generated/triton-config.js';

const DEFAULTS = {
  id: 'triton',
  engine: 'tstriton',
  tritonserverPath: undefined,
  tritonserverArgs: [],
  allowHttp: true,
  httpAddress: '0.0.0.0',
  httpPort: 8000,
  httpMaxInputSize: 67_108_864,
  allowPage: true,
  httpHeaderForwardPattern: undefined,
  allowedHosts: [],
  corsAllowOrigin: [],
  allowGrpc: true,
  grpcAddress: '0.0.0.0',
  grpcPort: 8001,
  grpcMaxMessageSize: 2_147_483_647,
  grpcHeaderForwardPattern: undefined,
  httpUseSsl: false,
  httpUseSslMutual: false,
  httpServerCert: undefined,
  httpServerKey: undefined,
  httpRootCert: undefined,
  grpcUseSsl: false,
  grpcUseSslMutual: false,
  grpcServerCert: undefined,
  grpcServerKey: undefined,
  grpcRootCert: undefined,
  grpcInferResponseCompressionLevel: 'none',
  grpcKeepaliveTime: 7_200_000,
  grpcKeepaliveTimeout: 20_000,
  grpcKeepalivePermitWithoutCalls: false,
  grpcHttp2MaxPingsWithoutData: 2,
  grpcHttp2MinRecvPingIntervalWithoutData: 300_000,
  grpcHttp2MaxPingStrikes: 2,
  allowMetrics: true,
  metricsAddress: '0.0.0.0',
  metricsPort: 8002,
  metricsConfig: { counterLatencies: true, histogramLatencies: false, summaries: undefined },
  metricsIntervalMs: 2000,
  allowCpuMetrics: true,
  allowGpuMetrics: false,
  allowClientShm: false,
  maxInflightBytes: defaultInflightBytes(),
  maxConnections: 16_384,
  strictReadiness: true,
  maskErrors: false,
  modelControlMode: 'none',
  loadModel: [],
  modelRepository: [],
  repositoryPollSecs: 15,
  disableAutoCompleteConfig: false,
  responseCacheByteSize: undefined,
  allowVertexAi: false,
  vertexAiPort: 8080,
  vertexAiDefaultModel: undefined,
  allowSagemaker: false,
  sagemakerPort: 8080,
  sagemakerSafePortRange: undefined,
  logInfo: true,
  logWarning: true,
  logError: true,
  logFormat: 'default',
  logVerbose: 0,
  logFile: undefined,
  shutdownDelaySecs: 0,
  exitTimeoutSecs: 30,
  exitOnError: true,
  serverThread: true,
  traceConfig: undefined,
};

/** Options that mean the same whether they come as a value or as text, each other than its default. */
const SIMPLE = {
  id: 'mine',
  allowHttp: false,
  httpAddress: '127.0.0.1',
  httpPort: 0,
  httpMaxInputSize: 1,
  allowPage: false,
  httpHeaderForwardPattern: '^x-',
  httpUseSsl: true,
  httpUseSslMutual: true,
  httpServerCert: 'http.pem',
  httpServerKey: 'http-key.pem',
  httpRootCert: 'http-root.pem',
  allowGrpc: true,
  grpcAddress: '::1',
  grpcPort: 21_500,
  grpcMaxMessageSize: 2,
  grpcHeaderForwardPattern: '^y-',
  grpcUseSsl: true,
  grpcUseSslMutual: true,
  grpcServerCert: 'server.pem',
  grpcServerKey: 'key.pem',
  grpcRootCert: 'root.pem',
  grpcInferResponseCompressionLevel: 'low',
  grpcKeepaliveTime: 1000,
  grpcKeepaliveTimeout: 500,
  grpcKeepalivePermitWithoutCalls: true,
  grpcHttp2MaxPingsWithoutData: 3,
  grpcHttp2MinRecvPingIntervalWithoutData: 4,
  grpcHttp2MaxPingStrikes: 5,
  allowMetrics: false,
  metricsAddress: 'localhost',
  metricsPort: 9002,
  metricsIntervalMs: 100,
  allowCpuMetrics: false,
  allowGpuMetrics: false,
  allowClientShm: true,
  maxInflightBytes: 2 ** 20,
  maxConnections: 7,
  strictReadiness: false,
  maskErrors: true,
  modelControlMode: 'explicit',
  allowVertexAi: true,
  vertexAiPort: 22_000,
  vertexAiDefaultModel: 'm',
  allowSagemaker: true,
  sagemakerPort: 8081,
  sagemakerSafePortRange: '21000-22000',
  logInfo: false,
  logWarning: false,
  logError: false,
  logFormat: 'ISO8601',
  logVerbose: 3,
  logFile: 'server.log',
  repositoryPollSecs: 7,
  disableAutoCompleteConfig: true,
  shutdownDelaySecs: 5,
  exitTimeoutSecs: 0,
  exitOnError: false,
  serverThread: false,
  traceConfig: ['mode=opentelemetry', 'level=TIMESTAMPS', 'rate=7'],
} as const;

/** Everything but the defaults, each option with a value of its kind. */
const EVERYTHING: Required<Omit<TritonConfig, 'logger' | 'engine' | 'tritonserverPath' | 'tritonserverArgs'>> = {
  ...SIMPLE,
  allowedHosts: ['a.example', '.b.example'],
  corsAllowOrigin: ['https://a.example', 'https://b.example'],
  metricsConfig: ['histogram_latencies=true'],
  loadModel: ['a', 'b'],
  modelRepository: ['models', 'more'],
  cacheConfig: 'local,size=1024',
  responseCacheByteSize: 1024,
  accessToken: 'token',
  remoteAccessToken: 'another token',
  remoteSocket: '/run/link',
  restrictedEndpoints: ['health'],
  httpRestrictedApi: ['trace,logging:key=value', 'metadata:other=1'],
  grpcRestrictedProtocol: 'trace:key=value',
};

const UNDERSTOOD = {
  ...SIMPLE,
  engine: 'tstriton',
  tritonserverPath: undefined,
  tritonserverArgs: [],
  allowedHosts: ['a.example', '.b.example'],
  corsAllowOrigin: ['https://a.example', 'https://b.example'],
  metricsConfig: { counterLatencies: true, histogramLatencies: true, summaries: undefined },
  traceConfig: { mode: 'opentelemetry', file: '', level: ['TIMESTAMPS'], rate: 7, count: -1, logFrequency: 0 },
  modelRepository: ['models', 'more'],
  loadModel: ['a', 'b'],
  responseCacheByteSize: 1024,
  accessToken: 'token',
  remoteAccessToken: 'another token',
  remoteSocket: '/run/link',
  restrictedEndpoints: ['health'],
  httpRestrictedApi: ['trace,logging:key=value', 'metadata:other=1'],
  grpcRestrictedProtocol: ['trace:key=value'],
};

const ROUTES = { AIP_PREDICT_ROUTE: '/predict', AIP_HEALTH_ROUTE: '/health' };

function fromEnvironment(environment: Record<string, string>) {
  return readTritonConfig({}, environment).config;
}

function invalid(message: unknown) {
  return expect.objectContaining({
    code: 'INVALID_ARG',
    message,
  });
}

describe('the options of the constructor', () => {
  it('have the defaults of Triton', () => {
    expect(readTritonConfig({}, {})).toMatchObject({ warnings: [], vertexAi: undefined, sagemaker: undefined });
    expect(readTritonConfig({}, {}).config).toEqual(DEFAULTS);
  });

  it('are all taken', () => {
    const { cacheConfig: _same, ...once } = EVERYTHING;
    const { config, restrictions, vertexAi } = readTritonConfig(once, ROUTES);
    expect(config).toEqual(UNDERSTOOD);
    expect(vertexAi).toEqual({ predictRoute: '/predict', healthRoute: '/health' });
    expect(restrictions).toEqual({
      accessToken: 'token',
      http: [
        { categories: ['trace', 'logging'], key: 'key', value: 'value' },
        { categories: ['metadata'], key: 'other', value: '1' },
        { categories: ['health'], key: 'triton-access-token', value: 'token' },
      ],
      grpc: [
        { categories: ['trace'], key: 'key', value: 'value' },
        { categories: ['health'], key: 'triton-access-token', value: 'token' },
      ],
    });
  });

  it.each([
    [{ info: () => undefined }, 'object without debug, warn, error'],
    ['console', 'string without debug, info, warn, error'],
    [null, 'object without debug, info, warn, error'],
  ])('refuse what is no logger: %j', (logger, got) => {
    expect(() => readTritonConfig({ logger } as never, {})).toThrow(
      invalid(`logger must be an object with the methods debug, info, warn, error, got ${got}`),
    );
  });

  it('take a logger, whose methods may be those of its class, and then no file', () => {
    expect(readTritonConfig({ logger: console }, {}).config.logger).toBe(console);
    expect(() => readTritonConfig({ logger: console, logFile: 'a.log' }, {})).toThrow(
      invalid('the log goes to one place: expected logger or logFile, got both'),
    );
  });

  it('count as not given when undefined', () => {
    const given = { httpPort: undefined, logFile: undefined } as unknown as TritonConfig;
    expect(readTritonConfig(given, { TSTRITON_CONFIG_HTTP_PORT: '81' }).config).toEqual({ ...DEFAULTS, httpPort: 81 });
  });

  it('let metrics listen where HTTP does unless told otherwise', () => {
    expect(readTritonConfig({ httpAddress: '127.0.0.1' }, {}).config.metricsAddress).toBe('127.0.0.1');
    expect(readTritonConfig({ httpAddress: '127.0.0.1', metricsAddress: '::1' }, {}).config.metricsAddress).toBe('::1');
    expect(fromEnvironment({ TSTRITON_CONFIG_HTTP_ADDRESS: '10.0.0.1' }).metricsAddress).toBe('10.0.0.1');
  });

  it.each([
    ['a port that is no integer', { httpPort: 80.5 }, 'httpPort must be an integer from 0 to 65535, got 80.5'],
    ['a port that is too large', { grpcPort: 65_536 }, 'grpcPort must be an integer from 0 to 65535, got 65536'],
    ['a negative port', { metricsPort: -1 }, 'metricsPort must be an integer from 0 to 65535, got -1'],
    ['a port in a string', { httpPort: '8000' }, 'httpPort must be an integer from 0 to 65535, got "8000"'],
    ['a port that is NaN', { httpPort: NaN }, 'httpPort must be an integer from 0 to 65535, got NaN'],
    ['a size of nothing', { httpMaxInputSize: 0 }, 'httpMaxInputSize must be an integer from 1 to 2147483647, got 0'],
    ['a negative time', { exitTimeoutSecs: -1 }, 'exitTimeoutSecs must be an integer from 0 to 2147483, got -1'],
    ['a boolean in a string', { allowHttp: 'false' }, 'allowHttp must be true or false, got "false"'],
    ['a boolean in a number', { exitOnError: 0 }, 'exitOnError must be true or false, got 0'],
    ['an empty string', { logFile: '' }, "logFile must be a non-empty string, got ''"],
    ['a number for a string', { id: 7 }, 'id must be a non-empty string, got number'],
    ['null', { httpPort: null }, 'httpPort must be an integer from 0 to 65535, got null'],
    ['a misspelt option', { htpPort: 1 }, "TritonConfig has an unknown option 'htpPort'; did you mean 'httpPort'?"],
    [
      "PyTriton's config around the options",
      { config: { httpPort: 1 } },
      "TritonConfig has an unknown option 'config'; options stand at the top: new Triton({ httpPort: 8000 }), without 'config' around them",
    ],
    [
      'the last word of some',
      { port: 1 },
      "TritonConfig has an unknown option 'port'; did you mean one of httpPort, grpcPort, metricsPort, vertexAiPort, sagemakerPort?",
    ],
    ['an option like no other', { colour: 1 }, "TritonConfig has an unknown option 'colour'"],
    [
      'a choice that there is not',
      { modelControlMode: 'polling' },
      "modelControlMode must be 'none' or 'explicit' or 'poll', got \"polling\"",
    ],
    ['a list of something else', { loadModel: ['a', 1] }, 'loadModel must be a list of non-empty strings, got number'],
    [
      'models to load that are loaded anyway',
      { loadModel: 'a' },
      "loadModel needs modelControlMode: 'explicit', got 'none'",
    ],
    [
      'all models and some',
      { loadModel: ['*', 'a'], modelControlMode: 'explicit' },
      "loadModel must be '*' alone or names of models, got both",
    ],
    [
      'an endpoint that there is not',
      { restrictedEndpoints: ['x'] },
      expect.stringContaining("restrictedEndpoints names an unknown API 'x'"),
    ],
    [
      'a port that SageMaker does not allow',
      { sagemakerSafePortRange: '21000-22000' },
      'The server cannot listen to HTTP requests at port 8000, allowed port range is [21000, 22000]',
    ],
    [
      'Vertex AI without its routes',
      { allowVertexAi: true },
      'AIP_PREDICT_ROUTE is not defined for Vertex AI endpoint',
    ],
  ])('refuse %s', (_, given, message) => {
    expect(() => readTritonConfig(given as unknown as TritonConfig, {})).toThrow(invalid(message));
  });

  it.each([[null], ['8000'], [undefined], [[]]])('refuse %j for the options', (given) => {
    expect(() => readTritonConfig(given as never, {})).toThrow(
      invalid(expect.stringMatching(/^TritonConfig must be an object, got /)),
    );
  });

  it.each(['rateLimit', 'cacheDirectory', 'sagemakerThreadCount'])(
    'refuse %s, which is to come or of Triton only, by name',
    (option) => {
      expect(() => readTritonConfig({ [option]: 1 } as TritonConfig, {})).toThrow(
        expect.objectContaining({
          code: 'UNSUPPORTED',
          message: expect.stringContaining(`${option} is not supported by TSTriton: `) as unknown as string,
        }),
      );
    },
  );
});

describe('the environment', () => {
  it('sets every option', () => {
    const environment = Object.fromEntries(
      Object.entries({
        ...EVERYTHING,
        allowedHosts: 'a.example,.b.example',
        corsAllowOrigin: 'https://a.example, https://b.example',
        loadModel: 'a,b',
        modelRepository: 'models;more',
        httpRestrictedApi: 'trace,logging:key=value;metadata:other=1',
        traceConfig: 'mode=opentelemetry;level=TIMESTAMPS;rate=7',
      })
        .filter(([option]) => option !== 'cacheConfig')
        .map(([option, value]) => [
          `TSTRITON_CONFIG_${option.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`,
          String(value),
        ]),
    );
    expect(environment['TSTRITON_CONFIG_HTTP_MAX_INPUT_SIZE']).toBe('1');
    const { cacheConfig: _same, ...once } = EVERYTHING;
    const { given: texts, ...read } = readTritonConfig({}, { ...environment, ...ROUTES });
    const { given: values, ...expected } = readTritonConfig(once, ROUTES);
    expect(read).toEqual(expected);
    expect(Object.keys(texts).toSorted()).toEqual(Object.keys(values).toSorted());
  });

  it('has no text for a logger', () => {
    expect(() => fromEnvironment({ TSTRITON_CONFIG_LOGGER: 'console' })).toThrow(
      invalid('TSTRITON_CONFIG_LOGGER: a logger is an object, which only new Triton({ logger }) takes'),
    );
  });

  it('takes lists from numbered variables in the order of their numbers, separators and all', () => {
    const environment = {
      PYTRITON_TRITON_CONFIG_METRICS_CONFIG_10: 'summary_quantiles=0.5:0.05,0.9:0.01',
      PYTRITON_TRITON_CONFIG_METRICS_CONFIG_2: ' summary_latencies=true ',
      PYTRITON_TRITON_CONFIG_CACHE_CONFIG_0: 'local,size=2048',
      TSTRITON_CONFIG_TRACE_CONFIG_0: 'mode=opentelemetry',
      TSTRITON_CONFIG_TRACE_CONFIG_1: 'rate=9',
      TSTRITON_CONFIG_HTTP_RESTRICTED_API_1: 'trace:second=2',
      TSTRITON_CONFIG_HTTP_RESTRICTED_API_0: 'logging:first=a;b',
      TSTRITON_CONFIG_RESTRICTED_ENDPOINTS: '',
    };
    const { config, restrictions, warnings } = readTritonConfig({}, environment);
    expect(config).toMatchObject({
      metricsConfig: { summaries: [{ quantile: 0.5 }, { quantile: 0.9 }] },
      responseCacheByteSize: 2048,
      traceConfig: { level: ['OFF'], rate: 9, count: -1 },
    });
    expect(restrictions.http).toEqual([
      { categories: ['logging'], key: 'first', value: 'a;b' },
      { categories: ['trace'], key: 'second', value: '2' },
    ]);
    expect(warnings).toEqual([]);
  });

  it('takes a list of the later prefix for the whole of it, in either form', () => {
    const options = { TSTRITON_CONFIG_MODEL_CONTROL_MODE: 'explicit', PYTRITON_TRITON_CONFIG_LOAD_MODEL_0: 'a' };
    expect(fromEnvironment({ ...options, TSTRITON_CONFIG_LOAD_MODEL_7: 'b' }).loadModel).toEqual(['b']);
    expect(fromEnvironment({ ...options, TSTRITON_CONFIG_LOAD_MODEL: 'c,d' }).loadModel).toEqual(['c', 'd']);
    expect(fromEnvironment(options).loadModel).toEqual(['a']);
  });

  it('refuses a list in both forms, whichever comes first', () => {
    const environment = { TSTRITON_CONFIG_LOAD_MODEL: 'a', TSTRITON_CONFIG_LOAD_MODEL_0: 'b' };
    const problem = invalid(
      'TSTRITON_CONFIG_LOAD_MODEL and TSTRITON_CONFIG_LOAD_MODEL_0 are both set, expected one variable or numbered ones',
    );
    expect(() => fromEnvironment(environment)).toThrow(problem);
    expect(() => fromEnvironment(Object.fromEntries(Object.entries(environment).reverse()))).toThrow(problem);
  });

  it('warns of numbers where there is no list, and of such that are no index', () => {
    const { warnings } = readTritonConfig({}, { TSTRITON_CONFIG_HTTP_PORT_0: '1', TSTRITON_CONFIG_LOAD_MODEL_00: 'a' });
    expect(warnings).toEqual([
      'unknown environment variable TSTRITON_CONFIG_HTTP_PORT_0, did you mean TSTRITON_CONFIG_HTTP_PORT?',
      'unknown environment variable TSTRITON_CONFIG_LOAD_MODEL_00, did you mean TSTRITON_CONFIG_LOAD_MODEL?',
    ]);
  });

  it('opens all endpoints with an empty list', () => {
    const { restrictions } = readTritonConfig({}, { TSTRITON_CONFIG_RESTRICTED_ENDPOINTS: '' });
    expect(restrictions).toEqual({ http: [], grpc: [], accessToken: undefined });
  });

  it('of Vertex AI switches its port on, and the other protocols off unless they are asked for', () => {
    const environment = { ...ROUTES, AIP_MODE: 'PREDICTION', AIP_HTTP_PORT: '8888' };
    expect(fromEnvironment(environment)).toMatchObject({
      allowVertexAi: true,
      vertexAiPort: 8888,
      allowHttp: false,
      allowGrpc: false,
    });
    expect(readTritonConfig({ allowHttp: true, allowVertexAi: false }, environment).config).toMatchObject({
      allowVertexAi: false,
      allowHttp: true,
    });
    expect(() => fromEnvironment({ ...environment, AIP_HTTP_PORT: 'x' })).toThrow(
      invalid('AIP_HTTP_PORT must be an integer, got "x"'),
    );
  });

  it('goes over the defaults, TSTRITON over PYTRITON, and the constructor over both', () => {
    const environment = {
      TSTRITON_CONFIG_HTTP_PORT: '2',
      PYTRITON_TRITON_CONFIG_HTTP_PORT: '1',
      PYTRITON_TRITON_CONFIG_GRPC_PORT: '11',
      TSTRITON_CONFIG_METRICS_PORT: '22',
      PYTRITON_TRITON_CONFIG_METRICS_PORT: '21',
    };
    const { config } = readTritonConfig({ metricsPort: 3 }, environment);
    expect([config.httpPort, config.grpcPort, config.metricsPort]).toEqual([2, 11, 3]);
    // Whichever comes first in the environment.
    const reversed = Object.fromEntries(Object.entries(environment).reverse());
    expect(readTritonConfig({ metricsPort: 3 }, reversed).config).toEqual(config);
  });

  it.each(['PYTRITON_TRITON_CONFIG_LOG_VERBOSITY', 'TSTRITON_CONFIG_LOG_VERBOSITY', 'TSTRITON_CONFIG_LOG_VERBOSE'])(
    'sets the verbosity of the log by %s',
    (variable) => {
      expect(fromEnvironment({ [variable]: '4' }).logVerbose).toBe(4);
    },
  );

  it.each(['False', 'false', '0', 'no', 'NO', 'off', ' false '])('reads %j as false', (text) => {
    expect(fromEnvironment({ PYTRITON_TRITON_CONFIG_ALLOW_METRICS: text }).allowMetrics).toBe(false);
  });

  it.each(['True', 'true', '1', 'yes', 'On'])('reads %j as true', (text) => {
    const { config } = readTritonConfig({}, { TSTRITON_CONFIG_EXIT_ON_ERROR: text });
    expect(config.exitOnError).toBe(true);
  });

  it('trims integers', () => {
    expect(fromEnvironment({ TSTRITON_CONFIG_HTTP_PORT: ' 81 ' }).httpPort).toBe(81);
  });

  it.each([
    ['TSTRITON_CONFIG_HTTP_PORT', 'eighty', 'must be an integer, got "eighty"'],
    ['TSTRITON_CONFIG_HTTP_PORT', '', 'must be an integer, got ""'],
    ['TSTRITON_CONFIG_HTTP_PORT', '8e3', 'must be an integer, got "8e3"'],
    ['PYTRITON_TRITON_CONFIG_GRPC_PORT', '70000', 'must be an integer from 0 to 65535, got 70000'],
    ['TSTRITON_CONFIG_EXIT_TIMEOUT_SECS', '-5', 'must be an integer from 0 to 2147483, got -5'],
    ['TSTRITON_CONFIG_ALLOW_HTTP', 'maybe', 'must be true or false (or on, off, yes, no, 1, 0), got "maybe"'],
    ['TSTRITON_CONFIG_ALLOW_HTTP', 'toString', 'must be true or false (or on, off, yes, no, 1, 0), got "toString"'],
    ['TSTRITON_CONFIG_LOAD_MODEL_0', ' ', "must be a non-empty string, got ''"],
    ['TSTRITON_CONFIG_LOG_FILE', '', "must be a non-empty string, got ''"],
  ])('names %s when its value is %j', (variable, text, problem) => {
    expect(() => fromEnvironment({ [variable]: text })).toThrow(invalid(`${variable} ${problem}`));
  });

  it('warns of a variable that nobody knows, with the nearest', () => {
    const { config, warnings } = readTritonConfig(
      {},
      { TSTRITON_CONFIG_HTP_PORT: '1', PYTRITON_TRITON_CONFIG_GRPC_PROT: '2', TSTRITON_CONFIG_COLOUR: 'red' },
    );
    expect(config).toEqual(DEFAULTS);
    expect([...warnings].sort()).toEqual([
      'unknown environment variable PYTRITON_TRITON_CONFIG_GRPC_PROT, did you mean PYTRITON_TRITON_CONFIG_GRPC_PORT?',
      'unknown environment variable TSTRITON_CONFIG_COLOUR',
      'unknown environment variable TSTRITON_CONFIG_HTP_PORT, did you mean TSTRITON_CONFIG_HTTP_PORT?',
    ]);
  });

  it('warns of a variable whose prefix lacks its middle, and of no other that begins with TSTRITON_', () => {
    const { config, warnings } = readTritonConfig(
      {},
      {
        TSTRITON_HTTP_PORT: '1',
        TSTRITON_LOAD_MODEL_0: 'a',
        TSTRITON_ACCESS_TOKEN: 'of a client',
        TSTRITON_GRPC_PORT: 'tcp://10.0.0.1:8001',
        TSTRITON_SERVICE_HOST: '10.0.0.1',
      },
    );
    expect(config).toEqual(DEFAULTS);
    expect(warnings).toEqual([
      'unknown environment variable TSTRITON_HTTP_PORT, did you mean TSTRITON_CONFIG_HTTP_PORT?',
      'unknown environment variable TSTRITON_LOAD_MODEL_0, did you mean TSTRITON_CONFIG_LOAD_MODEL_0?',
    ]);
  });

  it.each(['PYTRITON_TRITON_CONFIG_CACHE_DIRECTORY', 'PYTRITON_TRITON_CONFIG_GRPC_INFER_ALLOCATION_POOL_SIZE'])(
    'refuses %s, which is to come or of Triton only, by name',
    (variable) => {
      expect(() => fromEnvironment({ [variable]: '1' })).toThrow(
        expect.objectContaining({
          code: 'UNSUPPORTED',
          message: expect.stringContaining(`${variable} is not supported by TSTriton: `) as unknown as string,
        }),
      );
    },
  );

  it('leaves variables of other programs alone', () => {
    const environment = { PATH: '/bin', HTTP_PORT: 'x', XTSTRITON_CONFIG_HTTP_PORT: 'x', TSTRITON_CONFIG: 'x' };
    expect(readTritonConfig({}, environment)).toMatchObject({ config: DEFAULTS, warnings: [] });
  });

  it('ignores variables without a value', () => {
    expect(readTritonConfig({}, { TSTRITON_CONFIG_HTTP_PORT: undefined }).config).toEqual(DEFAULTS);
  });
});

describe('the options of forwarded headers and of other origins', () => {
  it('take patterns and origins', () => {
    const { config } = readTritonConfig(
      {
        httpHeaderForwardPattern: '(?-i)^X-',
        grpcHeaderForwardPattern: 'y',
        corsAllowOrigin: ['https://A.example:443', 'null'],
      },
      {},
    );
    expect(config).toMatchObject({
      httpHeaderForwardPattern: '(?-i)^X-',
      grpcHeaderForwardPattern: 'y',
      corsAllowOrigin: ['https://a.example', 'null'],
    });
    expect(fromEnvironment({ TSTRITON_CONFIG_CORS_ALLOW_ORIGIN: 'http://a, https://b' }).corsAllowOrigin).toEqual([
      'http://a',
      'https://b',
    ]);
  });

  it('are off by default', () => {
    expect(readTritonConfig({}, {}).config).toMatchObject({
      httpHeaderForwardPattern: undefined,
      grpcHeaderForwardPattern: undefined,
      corsAllowOrigin: [],
    });
  });

  it.each([
    [{ httpHeaderForwardPattern: '(' }, /^httpHeaderForwardPattern must be a regular expression, got "\("/],
    [{ grpcHeaderForwardPattern: '*' }, /^grpcHeaderForwardPattern must be a regular expression, got "\*"/],
    [{ corsAllowOrigin: 'a.example' }, /^corsAllowOrigin must be '\*' or origins such as/],
    [{ corsAllowOrigin: ['*', 7] }, /^corsAllowOrigin must be a list of non-empty strings, got number/],
  ])('refuse %j', (given, message) => {
    expect(() => readTritonConfig(given as TritonConfig, {})).toThrow(invalid(expect.stringMatching(message)));
  });
});

describe('the page', () => {
  it('is on unless NODE_ENV is production, whatever else that is', () => {
    const allowed = (environment: Record<string, string>, given = {}) =>
      readTritonConfig(given, environment).config.allowPage;
    expect([allowed({}), allowed({ NODE_ENV: 'development' }), allowed({ NODE_ENV: 'production' })]).toEqual([
      true,
      true,
      false,
    ]);
    expect(allowed({ NODE_ENV: 'production' }, { allowPage: true })).toBe(true);
    expect(allowed({ NODE_ENV: 'production', TSTRITON_CONFIG_ALLOW_PAGE: 'true' })).toBe(true);
    expect(allowed({}, { allowPage: false })).toBe(false);
  });
});
