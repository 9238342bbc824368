// How commands reach a server: the same flags for all of them, and the token in the environment.

import type { Command } from 'commander';

import type { ServerClientOptions } from '../client/client-options.js';
import { certificateFile, collectHeader, positiveNumber } from './arguments.js';
import type { CliIo } from './cli-io.js';

export interface AccessFlags {
  readonly header?: Readonly<Record<string, string>>;
  readonly ca?: () => string;
  readonly timeout: number;
}

export const URL_ARGUMENT = 'the server: http://host:8000, https://…, grpc://host:8001 or grpcs://…';

export const TOKEN_HELP =
  'The environment variable TSTRITON_ACCESS_TOKEN has the token of a server with restricted endpoints.';

export function addAccessFlags(command: Command): Command {
  return command
    .option('-H, --header <name:value>', 'a header of every request; again for more of them', collectHeader)
    .option('--ca <file>', 'trusted authorities in PEM form, for https:// and grpcs://', certificateFile)
    .option('--timeout <seconds>', 'how long a request may take', positiveNumber, 30);
}

export function accessOptions({ header, ca, timeout }: AccessFlags, { env }: CliIo): ServerClientOptions {
  const accessToken = env['TSTRITON_ACCESS_TOKEN'];
  return {
    timeoutMs: timeout * 1000,
    ...(header !== undefined && { headers: header }),
    ...(accessToken !== undefined && accessToken !== '' && { accessToken }),
    ...(ca !== undefined && { tls: () => ({ ca: ca() }) }),
  };
}
