// `tstriton gen`: a typed module of any server's models.

import { Command } from 'commander';

import { collect, positiveInteger } from './arguments.js';
import type { CliIo } from './cli-io.js';
import { accessOptions, addAccessFlags, type AccessFlags, TOKEN_HELP, URL_ARGUMENT } from './server-access.js';

interface GenOptions extends AccessFlags {
  readonly model: readonly string[];
  readonly modelVersion?: number;
  readonly bytes?: boolean;
  readonly strict?: boolean;
}

export function genCommand(io: CliIo): Command {
  const command = new Command('gen')
    .summary('write a typed TypeScript module of the models of a server')
    .description(
      "Writes a TypeScript module with the declaration of each model, and a function that makes a client of it, to standard output. It asks a server that speaks Triton's or KServe's protocol, over HTTP or gRPC.",
    )
    .helpOption('-h, --help', 'print this help')
    .argument('<url>', URL_ARGUMENT)
    .requiredOption('-m, --model <name>', 'the model; again for more of them', collect)
    .option('--model-version <number>', 'the version to ask, and to declare', positiveInteger)
    .option('--bytes', 'BYTES tensors have elements of bytes, Uint8Array; else they have strings')
    .option('--strict', 'the model gives all its outputs always: none is typed as possibly undefined');
  return addAccessFlags(command)
    .addHelpText(
      'after',
      `\n${TOKEN_HELP}\n\nExample:\n  tstriton gen http://localhost:8000 --model AddSub > add-sub.ts`,
    )
    .action((url: string, options: GenOptions) => gen(url, options, io));
}

async function gen(url: string, options: GenOptions, io: CliIo): Promise<void> {
  const [{ ServerClient }, { describeModel }, { generateModule }] = await Promise.all([
    import('../client/server-client.js'),
    import('./describe-model.js'),
    import('./generate-module.js'),
  ]);
  const server = new ServerClient(url, accessOptions(options, io));
  try {
    const wanted = {
      modelVersion: options.modelVersion,
      bytesAs: options.bytes === true ? 'bytes' : 'string',
    } as const;
    const models = [];
    for (const name of options.model) models.push(await describeModel(server, name, wanted));
    io.out(generateModule(models, { strict: options.strict === true }));
  } finally {
    await server.close();
  }
}
