// `tstriton gen`: a typed module of the models of any server, of folders or of an ONNX file.

import { Command } from 'commander';

import type { ServerClientOptions } from '../client/client-options.js';
import type { ServerClient } from '../client/server/server-client.js';
import { invalidArg, TritonError } from '../errors.js';
import { collect, positiveInteger } from './arguments.js';
import type { CliIo } from './cli-io.js';
import type { DescribeOptions } from './describe-model.js';
import type { DescribedModel } from './generate-module.js';
import { accessOptions, addAccessFlags, type AccessFlags, TOKEN_HELP, URL_ARGUMENT } from './server-access.js';

interface GenOptions extends AccessFlags {
  readonly model?: readonly string[];
  readonly modelVersion?: number;
  readonly bytes?: boolean;
  readonly strict?: boolean;
}

export function genCommand(io: CliIo): Command {
  const command = new Command('gen')
    .summary('write a typed TypeScript module of the models of a server, a folder or an ONNX file')
    .description(
      "Writes a TypeScript module with the declaration of each model, and functions that make clients of them, to standard output. It asks a server that speaks Triton's or KServe's protocol, over HTTP or gRPC, or reads files without a server.",
    )
    .helpOption('-h, --help', 'print this help')
    .argument('<source>', `${URL_ARGUMENT}; or an .onnx file, the folder of a model, or a model repository`)
    .option('-m, --model <name>', 'the model; again for more of them (default: all that are there)', collect)
    .option('--model-version <number>', 'the version to ask, and to declare', positiveInteger)
    .option('--bytes', 'BYTES tensors have elements of bytes, Uint8Array; else they have strings')
    .option('--strict', 'the model gives all its outputs always: none is typed as possibly undefined');
  return addAccessFlags(command)
    .addHelpText(
      'after',
      `\n${TOKEN_HELP}\n\nExamples:\n  tstriton gen http://localhost:8000 --model AddSub > add-sub.ts\n  tstriton gen resnet50.onnx > resnet50.ts\n  tstriton gen models > models.ts`,
    )
    .action(async (source: string, options: GenOptions) => {
      const models = await described(source, options, io);
      const { generateModule } = await import('./generate-module.js');
      io.out(generateModule(models, { strict: options.strict === true }));
    });
}

async function described(source: string, options: GenOptions, io: CliIo): Promise<readonly DescribedModel[]> {
  const { model: names = [], modelVersion, bytes } = options;
  const wanted = { modelVersion, bytesAs: bytes === true ? 'bytes' : 'string' } as const;
  const { describeFiles, isPath } = await import('./describe-files.js');
  if (!isPath(source)) return describeServer(source, names, wanted, accessOptions(options, io));
  const flag = options.header !== undefined ? '--header' : options.ca !== undefined ? '--ca' : undefined;
  if (flag !== undefined) throw invalidArg(`${flag} is for servers, and ${source} is a file or a folder`);
  return describeFiles(source, names, wanted);
}

async function describeServer(
  url: string,
  names: readonly string[],
  wanted: DescribeOptions,
  access: ServerClientOptions,
): Promise<readonly DescribedModel[]> {
  const [{ ServerClient }, { describeModel }] = await Promise.all([
    import('../client/server/server-client.js'),
    import('./describe-model.js'),
  ]);
  await using server = new ServerClient(url, access);
  const models: DescribedModel[] = [];
  for (const name of names.length > 0 ? names : await readyModels(server, url, access))
    models.push(await describeModel(server, name, wanted));
  return models;
}

async function readyModels(server: ServerClient, url: string, access: ServerClientOptions): Promise<readonly string[]> {
  const { isRefusal, listModels } = await import('./list-models.js');
  let names: readonly string[];
  try {
    names = await listModels(server, url, access);
  } catch (error) {
    const { code, message } = TritonError.from(error);
    const hint = `${url} does not list its models: name them with --model, got: ${message}`;
    throw isRefusal(error) ? new TritonError(code, hint, { cause: error }) : error;
  }
  if (names.length === 0) throw new TritonError('NOT_FOUND', `${url} has no model that is ready`);
  return names;
}
