// `tstriton check`: whether serving works here, and what others need to know to help.

import { Command } from 'commander';

import type { CliIo } from '../cli-io.js';
import { addAccessFlags, TOKEN_HELP } from '../server-access.js';
import type { CheckFlags } from './check.js';

export function checkCommand(io: CliIo): Command {
  const command = new Command('check')
    .summary('find out why something does not work')
    .description(
      'Looks at the environment and the ports, has a server of its own asked over HTTP and gRPC, and with a URL asks that server how it is. The report has no secrets: values of tokens, keys and passwords are left out. Look through it before you send it to others all the same.',
    )
    .helpOption('-h, --help', 'print this help')
    .argument('[url]', 'a running server to look at: http://host:8000, grpc://host:8001, …')
    .option('--json', 'print the report as JSON')
    .option('--no-self-test', 'start no server');
  return addAccessFlags(command)
    .addHelpText(
      'after',
      `
The command ends with 1 when something failed. ${TOKEN_HELP}

Examples:
  tstriton check
  tstriton check grpc://localhost:8001 --json > report.json`,
    )
    .action(async (url: string | undefined, flags: CheckFlags) => {
      const { check } = await import('./check.js');
      await check(url, flags, io);
    });
}
