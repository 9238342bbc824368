// `tstriton deploy`: the files that have a cluster run a server.

import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';

import { flagOf, parseFlag } from '../../config/flags.js';
import { nearest } from '../../checks/nearest.js';
import type { OptionName } from '../../config/options.js';
import { invalidArg } from '../../errors.js';
import { positiveInteger } from '../arguments.js';
import type { CliIo } from '../cli-io.js';
import { serveCommand } from '../serve/serve-command.js';
import type { ServeFlags } from '../serve/serve.js';
import { DEPLOYMENT_FORMATS } from './deployment-formats.js';
import type { DeployFlags } from './deploy.js';

export function deployCommand(io: CliIo): Command {
  return new Command('deploy')
    .summary('print the files to run a server in Kubernetes')
    .description(
      'Prints a Deployment with its probes, a Service and a PodDisruptionBudget, or a runtime of KServe, made from the options given. The image is to have tstriton on its path, as the one of deploy/Dockerfile has; it runs tstriton serve with the arguments.',
    )
    .helpOption('-h, --help', 'print this help')
    .argument(
      '[args...]',
      'what is served: files in the image, and after -- flags of tstriton serve (default: the model repository at /models, of KServe at /mnt/models)',
    )
    .requiredOption('--name <name>', 'the name of the Deployment and the Service')
    .requiredOption('--image <image>', 'the image of the container')
    .option('--namespace <name>', 'the namespace (default: that of kubectl)')
    .option('--replicas <count>', 'how many servers', positiveInteger, 2)
    .option(
      '--max-replicas <count>',
      'the most servers: a HorizontalPodAutoscaler adds them when requests wait',
      positiveInteger,
    )
    .option('--models-claim <name>', 'the PersistentVolumeClaim that is mounted at /models')
    .option('--storage-uri <uri>', 'where KServe fetches the model repository of an InferenceService')
    .addOption(serverOption('httpPort', 'the HTTP port (default: 8000)'))
    .addOption(serverOption('grpcPort', 'the gRPC port (default: 8001)'))
    .addOption(serverOption('metricsPort', 'the metrics port (default: 8002)'))
    .option('--cpu <processors>', 'processors that a server is given, as 500m', '1')
    .option('--memory <bytes>', 'memory that a server is given and may have, as 512Mi', '1Gi')
    .option('--startup-secs <seconds>', 'how long models may take to load', positiveInteger, 300)
    .addOption(serverOption('shutdownDelaySecs', 'how long a server goes on while load balancers notice its end', 10))
    .addOption(serverOption('exitTimeoutSecs', 'how long requests under way may take at its end', 30))
    .option('--token-secret <name>', 'the Secret whose key token is the access token')
    .option('--service-monitor', 'also print a ServiceMonitor, for a Prometheus operator')
    .option('-e, --env <name=value>', 'a variable of the container; again for more of them', collectVariable, {})
    .addOption(
      new Option('--format <format>', 'which files').choices(Object.keys(DEPLOYMENT_FORMATS)).default('kubernetes'),
    )
    .option('-o, --output <folder>', 'write the files into this folder (default: print them)')
    .addHelpText(
      'after',
      `
Examples:
  tstriton deploy model.js --name add-sub --image registry.example.org/add-sub:1.0 --replicas 3 | kubectl apply -f -
  tstriton deploy --name models --image tstriton:0.1.0 --models-claim models --max-replicas 10 --service-monitor
  tstriton deploy --name models --image tstriton:0.1.0 --format kserve --storage-uri pvc://models/repository`,
    )
    .action(async (args: readonly string[], flags: DeployFlags) => {
      checkServeArgs(args, io);
      const { deploy } = await import('./deploy.js');
      deploy(args, flags, io);
    });
}

/** The container would end at once with flags that `tstriton serve` refuses. */
function checkServeArgs(args: readonly string[], io: CliIo): void {
  const serve = serveCommand(io)
    .exitOverride()
    .configureOutput({ outputError: () => undefined });
  let unknown: readonly string[];
  try {
    ({ unknown } = serve.parseOptions([...args]));
  } catch (error) {
    throw error instanceof CommanderError ? invalidArg(`-- ${error.message.replace(/^error: /, '')}`) : error;
  }
  const [flag] = unknown;
  if (flag !== undefined) {
    const hint = nearest(
      flag.split('=')[0]!,
      serve.options.flatMap(({ long }) => long ?? []),
    );
    throw invalidArg(
      `-- ${flag} is no flag of tstriton serve${hint === undefined ? '' : `; did you mean -- ${hint}?`}`,
    );
  }
  if (serve.opts<ServeFlags>().remote !== undefined)
    throw invalidArg('-- --remote does not fit the files: such a process has no ports for the probes and the Service');
}

/** One of the server's own, with its checks. */
function serverOption(name: OptionName, description: string, byDefault?: number): Option {
  return new Option(`${flagOf(name)} <number>`, description)
    .argParser((text) => parseFlag(name, text) as number)
    .default(byDefault);
}

function collectVariable(value: string, before: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const at = value.indexOf('=');
  if (at <= 0) throw new InvalidArgumentError('Expected NAME=value.');
  return { ...before, [value.slice(0, at)]: value.slice(at + 1) };
}
