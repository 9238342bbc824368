// What `tstriton deploy` does.

import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { flagOf } from '../../config/flags.js';
import { invalidArg, TritonError } from '../../errors.js';
import type { CliIo } from '../cli-io.js';
import { DEPLOYMENT_FORMATS, type FormatOfDeployment, type DeploymentFormat } from './deployment-formats.js';
import { checkDeployment, type DeploymentOptions } from './deployment-options.js';

/** Those without a default. */
type Optional =
  | 'namespace'
  | 'maxReplicas'
  | 'modelsClaim'
  | 'storageUri'
  | 'httpPort'
  | 'grpcPort'
  | 'metricsPort'
  | 'tokenSecret'
  | 'serviceMonitor';

type Given = { readonly [Name in Optional]?: Exclude<DeploymentOptions[Name], undefined> };

export interface DeployFlags extends Omit<DeploymentOptions, 'serveArgs' | Optional>, Given {
  readonly format: DeploymentFormat;
  readonly output?: string;
}

const NOT_GIVEN = {
  namespace: undefined,
  maxReplicas: undefined,
  modelsClaim: undefined,
  storageUri: undefined,
  tokenSecret: undefined,
  serviceMonitor: false,
};

/** Throws INVALID_ARG for what no cluster takes, and for a folder that cannot be written to. */
export function deploy(serveArgs: readonly string[], flags: DeployFlags, io: CliIo): void {
  const { output, ...made } = flags;
  const files = filesOf(serveArgs, made);
  if (output === undefined) {
    io.out(files.map(({ content }) => content).join('---\n'));
    return;
  }
  for (const { path, content } of files) {
    const target = join(output, path);
    try {
      mkdirSync(dirname(target), { recursive: true });
      writeFileSync(target, content);
    } catch (error) {
      throw invalidArg(`--output: ${TritonError.from(error).message}`, { cause: error });
    }
    io.err(`wrote ${target}\n`);
  }
}

function filesOf(serveArgs: readonly string[], { format, ...flags }: Omit<DeployFlags, 'output'>) {
  const { files, ports, refused }: FormatOfDeployment = DEPLOYMENT_FORMATS[format];
  for (const [name, reason] of Object.entries(refused)) {
    if (name in flags) throw invalidArg(`${flagOf(name)} is not for --format ${format}: ${reason}`);
  }
  return files(checkDeployment({ ...NOT_GIVEN, ...ports, ...flags, serveArgs }));
}
