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

/** At all addresses of a pod, of IPv4 and IPv6 or of IPv4 alone. */
const EVERYWHERE = ['::', '0.0.0.0'];

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
    checkOption(name, `--env ${variable}`, value);
    if (name === 'accessToken' && tokenSecret !== undefined)
      throw invalidArg(`--env ${variable} and --token-secret both set the access token, expected one of them`);
    // The flag in the arguments of the container would count, or the mount would not be served.
    if (name === 'modelRepository')
      throw invalidArg(`--env ${variable} does not count beside the arguments: give -- --model-repository FOLDER`);
  }
  for (const [at, arg] of serveArgs.entries()) {
    const [flag = '', value = serveArgs[at + 1] ?? ''] = arg.split('=', 2);
    const name = (Object.keys(OPTIONS) as OptionName[]).find((option) => flagOf(option) === flag);
    if (name === undefined) continue;
    checkOption(name, `-- ${flag}`, value);
    if (name === 'modelRepository' && modelsClaim !== undefined && !isWithin(value))
      throw invalidArg(`--models-claim is mounted at ${MODELS}, expected -- ${flag} ${MODELS}, got ${value}`);
  }
}

function checkOption(name: OptionName, given: string, value: string): void {
  if (OWN.includes(name)) {
    throw invalidArg(
      `${given} would not change the ports, probes and times of the files: give ${flagOf(name)} to deploy itself`,
    );
  }
  const reason = REFUSED[name];
  const isAddress = name.endsWith('Address');
  if (reason === undefined || (isAddress && EVERYWHERE.includes(value))) return;
  const expected = isAddress ? `; expected ${EVERYWHERE.join(' or ')}, got ${value}` : '';
  throw invalidArg(`${given} does not fit the files: ${reason}${expected}`);
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
