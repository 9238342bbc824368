// Refuses options of the server that would change what the printed files say of it: ports, probes, times and mounts. They come
// as variables (`--env`) or as flags of `tstriton serve` behind `--`.

import { flagOf } from '../../config/flags.js';
import { OPTIONS, type OptionName } from '../../config/options.js';
import { readEnvironment } from '../../config/read-environment.js';
import { invalidArg } from '../../errors.js';
import { asUsage } from '../arguments.js';

/** Options that `deploy` has itself, and puts wherever they belong. */
const OWN: readonly OptionName[] = ['httpPort', 'grpcPort', 'metricsPort', 'shutdownDelaySecs', 'exitTimeoutSecs'];

const PROBES = 'the probes ask at the address of the pod, over HTTP without TLS';
const SERVICE = 'the Service offers gRPC without TLS, at the address of the pod';
const METRICS = 'autoscalers and monitors ask at the address of the pod';

/** Options that the files do not follow, and why. */
const REFUSED: Partial<Record<OptionName, string>> = {
  allowHttp: PROBES,
  httpAddress: PROBES,
  httpUseSsl: PROBES,
  httpUseSslMutual: PROBES,
  allowGrpc: SERVICE,
  grpcAddress: SERVICE,
  grpcUseSsl: SERVICE,
  grpcUseSslMutual: SERVICE,
  allowMetrics: METRICS,
  metricsAddress: METRICS,
};

interface ServerSettings {
  readonly env: Readonly<Record<string, string>>;
  readonly serveArgs: readonly string[];
  readonly modelsClaim: string | undefined;
  readonly tokenSecret: string | undefined;
}

/** Where the claim is mounted. */
const MODELS = '/models';

/** Throws INVALID_ARG naming the variable or the flag, and the way out; also for a variable that the server would refuse or not know. */
export function checkServerOptions({ env, serveArgs, modelsClaim, tokenSecret }: ServerSettings): void {
  for (const [variable, value] of Object.entries(env)) {
    const name = optionOf(variable, value);
    if (name === undefined) continue;
    checkOption(name, `--env ${variable}`);
    if (name === 'accessToken' && tokenSecret !== undefined)
      throw invalidArg(`--env ${variable} and --token-secret both set the access token, expected one of them`);
    // The flag in the arguments of the container would count, or the mount would not be served.
    if (name === 'modelRepository')
      throw invalidArg(`--env ${variable} does not count beside the arguments: give -- --model-repository FOLDER`);
  }
  for (const [at, arg] of serveArgs.entries()) {
    const [flag = '', value] = arg.split('=', 2);
    const name = (Object.keys(OPTIONS) as OptionName[]).find((option) => flagOf(option) === flag);
    if (name === undefined) continue;
    checkOption(name, `-- ${flag}`);
    const folder = value ?? serveArgs[at + 1] ?? '';
    if (name === 'modelRepository' && modelsClaim !== undefined && !isWithin(folder))
      throw invalidArg(`--models-claim is mounted at ${MODELS}, expected -- ${flag} ${MODELS}, got ${folder}`);
  }
}

function checkOption(name: OptionName, given: string): void {
  if (OWN.includes(name)) {
    throw invalidArg(
      `${given} would not change the ports, probes and times of the files: give ${flagOf(name)} to deploy itself`,
    );
  }
  const reason = REFUSED[name];
  if (reason !== undefined) throw invalidArg(`${given} does not fit the files: ${reason}`);
}

/** Undefined for a variable of another program. */
function optionOf(variable: string, value: string): OptionName | undefined {
  const { values, warnings } = asUsage(() => readEnvironment({ [variable]: value }));
  const [warning] = warnings;
  if (warning !== undefined) throw invalidArg(`--env: ${warning}`);
  return Object.keys(values)[0] as OptionName | undefined;
}

function isWithin(folder: string): boolean {
  return folder === MODELS || folder.startsWith(`${MODELS}/`);
}
