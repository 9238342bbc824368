// `tstriton deploy`: the files that have a cluster run a server.

import { Command, InvalidArgumentError, Option } from 'commander';

import { flagOf, parseFlag } from '../../config/flags.js';
import type { OptionName } from '../../config/options.js';
import { positiveInteger } from '../arguments.js';
import type { CliIo } from '../cli-io.js';
import { DEPLOYMENT_FORMATS } from './deployment-formats.js';
import type { DeployFlags } from './deploy-flags.js';

export function deployCommand(io: CliIo): Command {
  return new Command('deploy')
    .summary('print the files to run a server in Kubernetes')
    .description(
      'Prints a Deployment with its probes and a Service, made from the options given. The image is to have tstriton on its path, as the one of deploy/Dockerfile has; it runs tstriton serve with the arguments.',
    )
    .helpOption('-h, --help', 'print this help')
    .argument('<args...>', 'what is served: files in the image, and after -- flags of tstriton serve')
    .requiredOption('--name <name>', 'the name of the Deployment and the Service')
    .requiredOption('--image <image>', 'the image of the container')
    .option('--namespace <name>', 'the namespace (default: that of kubectl)')
    .option('--replicas <count>', 'how many servers', positiveInteger, 2)
    .addOption(serverOption('httpPort', 'the HTTP port', 8000))
    .addOption(serverOption('grpcPort', 'the gRPC port', 8001))
    .addOption(serverOption('metricsPort', 'the metrics port', 8002))
    .option('--cpu <processors>', 'processors that a server is given, as 500m', '1')
    .option('--memory <bytes>', 'memory that a server is given and may have, as 512Mi', '1Gi')
    .option('--startup-secs <seconds>', 'how long models may take to load', positiveInteger, 300)
    .addOption(serverOption('shutdownDelaySecs', 'how long a server goes on while load balancers notice its end', 10))
    .addOption(serverOption('exitTimeoutSecs', 'how long requests under way may take at its end', 30))
    .option('--token-secret <name>', 'the Secret whose key token is the access token')
    .option('-e, --env <name=value>', 'a variable of the container; again for more of them', collectVariable, {})
    .addOption(
      new Option('--format <format>', 'which files').choices(Object.keys(DEPLOYMENT_FORMATS)).default('kubernetes'),
    )
    .option('-o, --output <folder>', 'write the files into this folder (default: print them)')
    .addHelpText(
      'after',
      `
Example:
  tstriton deploy model.js --name add-sub --image registry.example.org/add-sub:1.0 --replicas 3 | kubectl apply -f -`,
    )
    .action(async (args: readonly string[], flags: DeployFlags) => {
      const { deploy } = await import('./deploy.js');
      deploy(args, flags, io);
    });
}

/** One of the server's own, with its checks. */
function serverOption(name: OptionName, description: string, byDefault: number): Option {
  return new Option(`${flagOf(name)} <number>`, description)
    .argParser((text) => parseFlag(name, text) as number)
    .default(byDefault);
}

function collectVariable(value: string, before: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const at = value.indexOf('=');
  if (at <= 0) throw new InvalidArgumentError('Expected NAME=value.');
  return { ...before, [value.slice(0, at)]: value.slice(at + 1) };
}
