// Where the life of our server differs from PyTriton's on purpose.
import { LIFECYCLE_REFUSALS, MORE_LIFECYCLE_REFUSALS } from './lifecycle-refusals.js';
import type { LifecycleRule } from './replay-lifecycle.js';

/** A rule for named cases; `answer` says what ours is instead. */
function instead(name: string, reason: string, answer: string, ...cases: readonly string[]): LifecycleRule {
  const expects: LifecycleRule['expects'] = (_recorded, testCase) => ({
    found: answer,
    refusal: answer === 'refused' ? MORE_LIFECYCLE_REFUSALS[testCase.name] : undefined,
  });
  return { name, reason, cases, expects };
}

const STATISTICS = ['/v2/models/First/stats', '/v2/models/stats', '/v2/models/First/versions/1/stats'];

export const LIFECYCLE_RULES: readonly LifecycleRule[] = [
  instead(
    'SIGTERM lets requests finish',
    'PyTriton dies at once; what is under way loses its connection half a minute later.',
    '200 of 1: 1 200 of 1: 1 200 of 1: 1 exit 0',
    'sigterm-serve',
    'sigterm-timeline serve 3 in flight',
  ),
  instead(
    'SIGTERM ends serve() cleanly',
    'Supervisors take -15 for a crash.',
    'exit 0',
    'sigterm-timeline serve 0 in flight',
  ),
  instead(
    'run() leaves signals to the script',
    'No KeyboardInterrupt unwinds a script in Node: it ends by the signal unless it listens. serve() does.',
    'unanswered unanswered unanswered exit -2',
    'sigint-run',
    'sigint-with',
  ),
  instead(
    'what says no means no',
    'PyTriton takes every text but the empty one for true.',
    'allowMetrics=false',
    ...['False', 'false', '0', 'no'].map((value) => `environment-variable ALLOW_METRICS=${value}`),
  ),
  instead(
    'a variable that says nothing is refused',
    'An empty text is neither true nor false.',
    'refused',
    'environment-variable ALLOW_METRICS=',
  ),
  instead(
    'the documented name of log verbosity is known',
    'PyTriton documents LOG_VERBOSITY and reads LOG_VERBOSE.',
    'logVerbose=4',
    'environment-variable LOG_VERBOSITY=4',
  ),
  instead(
    'a list is words, not characters',
    "PyTriton takes 'abc' for a, b and c; here it is one setting.",
    'metricsConfig=["abc"]',
    'environment-variable METRICS_CONFIG=abc',
  ),
  instead(
    'there may be several model repositories',
    'As Triton has it, whose flag may be given several times.',
    'modelRepository=["m"]',
    'environment-variable MODEL_REPOSITORY=m',
  ),
  instead(
    'unknown variables are warned about',
    'PyTriton ignores them, misspelt ones too.',
    'warned',
    'environment-variable CACHE_CONFIG_x=a',
    'environment-variable NOPE=1',
  ),
  instead(
    'options are checked at once',
    'PyTriton drops unknown ones from dicts, and starts Triton with whatever values it was given.',
    'refused',
    'config-from-dict-unknown',
    'config-text-port',
  ),
  instead(
    'a token that guards nothing is none',
    'PyTriton keeps it, and no request ever needs it.',
    'a token of 0',
    'security-config {"access_token":"t","restricted_endpoints":[]}',
  ),
  instead(
    'names are names',
    'PyTriton lets a line end and names of folders pass.',
    'refused',
    ...['newline\n', '.', '..'].map((name) => `bind-name ${JSON.stringify(name)}`),
  ),
  instead(
    'names differ by case',
    "PyTriton compares them without, for the sake of file systems; Triton's clients tell them apart.",
    'accepted',
    'bind-same-name-other-case',
  ),
  instead(
    'what cannot be served is refused at bind',
    'PyTriton takes it, and fails at load or at the first request.',
    'refused',
    'bind-callable text',
    'bind-callable class',
    'bind-callable empty list',
    'bind-callable list with None',
    'bind-inputs-none',
    'bind-version-text',
    'bind-version-zero',
  ),
  instead(
    'a server runs once',
    'PyTriton ignores the second call; here it tells of a mistake.',
    'refused',
    'run-twice',
  ),
  instead(
    'a second version may be bound while the server runs',
    'PyTriton fails to load it.',
    'accepted',
    'bind-second-version-after-run',
  ),
  instead('a server with two versions is alive', 'The failed second version made it not.', 'true', 'is_alive-running'),
  instead(
    'a server with two versions is ready',
    'The failed second version made it not.',
    '200 200 200 200',
    'restricted-http GET /v2/health/ready',
  ),
  instead(
    'both versions are served',
    'The second one failed to load.',
    '200 of 1: 1 200 of 2: 1 200 of 2: 1',
    'infer-model-of-two-versions',
  ),
  instead(
    'statistics are open over HTTP',
    'They change nothing, and perf_analyzer reads them; `restrictedEndpoints` closes them.',
    '200 200 200 200',
    ...STATISTICS.map((path) => `restricted-http GET ${path}`),
  ),
  instead('statistics are open over gRPC', 'As over HTTP.', 'OK; OK; OK; OK', 'restricted-grpc ModelStatistics'),
  instead(
    'a taken port is an error of run()',
    'PyTriton waits for ever, or goes on without metrics.',
    'refused',
    ...['http', 'grpc', 'metrics'].map((which) => `port-taken ${which}`),
  ),
  instead(
    'a model that does not load stops no other',
    'The next bind() of PyTriton blocks until readiness, which never comes.',
    'failed, then 200 of 1: 1, ready 200',
    'bind-after-failed-load',
  ),
  instead('a server runs again', 'PyTriton has removed its workspace.', 'accepted', 'run-after-stop'),
  instead(
    'there is no process besides',
    'What was seen of the tritonserver process: one that stays behind, and talking to the one of somebody else.',
    'not asked',
    'port-taken-by-hand http, grpc and metrics of a running PyTriton',
    'sigterm-orphans-by-hand',
  ),
  instead(
    'figures are for benchmarks',
    'A verbose log that slows Triton down; nothing here to answer.',
    'not asked',
    'verbose-log',
  ),
  instead(
    'there is no command line',
    'The package is a library; PyTriton’s command prints examples and checks an installation of Python.',
    'not asked',
    'cli pytriton --help',
    'cli pytriton --help (psutil installed)',
    'cli pytriton check --help',
    'cli pytriton check --no-zip',
  ),
  {
    name: 'refusals say what was got and what is expected',
    reason: 'PyTriton has Python say some of it. Ours name the option or the variable.',
    cases: Object.keys(LIFECYCLE_REFUSALS),
    expects: ({ found }, { name }) => ({ found, refusal: LIFECYCLE_REFUSALS[name] }),
  },
];
