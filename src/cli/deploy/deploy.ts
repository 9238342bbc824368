// What `tstriton deploy` does.

import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { invalidArg, TritonError } from '../../errors.js';
import type { CliIo } from '../cli-io.js';
import type { DeployFlags } from './deploy-flags.js';
import { DEPLOYMENT_FORMATS } from './deployment-formats.js';
import { checkDeployment } from './deployment-options.js';

/** Throws INVALID_ARG for what no cluster takes, and for a folder that cannot be written to. */
export function deploy(serveArgs: readonly string[], flags: DeployFlags, io: CliIo): void {
  const { namespace, tokenSecret, format, output, ...options } = flags;
  const files = DEPLOYMENT_FORMATS[format](checkDeployment({ ...options, namespace, tokenSecret, serveArgs }));
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
