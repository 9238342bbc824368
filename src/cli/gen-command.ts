// `tstriton gen`: a typed module of any server's models.

import { readFileSync } from 'node:fs';

import { Command, InvalidArgumentError } from 'commander';

import { TritonError } from '../errors.js';
import type { CliIo } from './cli-io.js';

interface GenOptions {
  readonly model: readonly string[];
  readonly modelVersion?: number;
  readonly bytes?: boolean;
  readonly strict?: boolean;
  readonly header?: Readonly<Record<string, string>>;
  readonly ca?: string;
  readonly timeout: number;
}

export function genCommand(io: CliIo): Command {
  return new Command('gen')
    .summary('write a typed TypeScript module of the models of a server')
    .description(
      "Writes a TypeScript module with the declaration of each model, and a function that makes a client of it, to standard output. It asks a server that speaks Triton's or KServe's protocol, over HTTP or gRPC.",
    )
    .helpOption('-h, --help', 'print this help')
    .argument('<url>', 'the server: http://host:8000, https://…, grpc://host:8001 or grpcs://…')
    .requiredOption('-m, --model <name>', 'the model; again for more of them', collect)
    .option('--model-version <number>', 'the version to ask, and to declare', positiveInteger)
    .option('--bytes', 'BYTES tensors have elements of bytes, Uint8Array; else they have strings')
    .option('--strict', 'the model gives all its outputs always: none is typed as possibly undefined')
    .option('-H, --header <name:value>', 'a header of every request; again for more of them', collectHeader)
    .option('--ca <file>', 'trusted authorities in PEM form, for https:// and grpcs://', fileText)
    .option('--timeout <seconds>', 'how long a request may take', positiveNumber, 30)
    .addHelpText(
      'after',
      '\nThe environment variable TSTRITON_ACCESS_TOKEN has the token of a server with restricted endpoints.\n\nExample:\n  tstriton gen http://localhost:8000 --model AddSub > add-sub.ts',
    )
    .action((url: string, options: GenOptions) => gen(url, options, io));
}

async function gen(url: string, options: GenOptions, { out, env }: CliIo): Promise<void> {
  const [{ ServerClient }, { describeModel }, { generateModule }] = await Promise.all([
    import('../client/server-client.js'),
    import('./describe-model.js'),
    import('./generate-module.js'),
  ]);
  const accessToken = env['TSTRITON_ACCESS_TOKEN'];
  const server = new ServerClient(url, {
    timeoutMs: options.timeout * 1000,
    ...(options.header !== undefined && { headers: options.header }),
    ...(accessToken !== undefined && accessToken !== '' && { accessToken }),
    ...(options.ca !== undefined && { tls: { ca: options.ca } }),
  });
  try {
    const wanted = {
      modelVersion: options.modelVersion,
      bytesAs: options.bytes === true ? 'bytes' : 'string',
    } as const;
    const models = [];
    for (const name of options.model) models.push(await describeModel(server, name, wanted));
    out(generateModule(models, { strict: options.strict === true }));
  } catch (error) {
    // The client speaks of its own options.
    const { code, message } = TritonError.from(error);
    throw new TritonError(code, message.replace(/ in tls\.ca$/, ' to --ca'), { cause: error });
  } finally {
    await server.close();
  }
}

function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

function collectHeader(value: string, before: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
  const colon = value.indexOf(':');
  if (colon <= 0) throw new InvalidArgumentError('Expected name:value.');
  return { ...before, [value.slice(0, colon)]: value.slice(colon + 1).trim() };
}

function fileText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new InvalidArgumentError(error instanceof Error ? `${error.message}.` : 'It cannot be read.');
  }
}

function positiveInteger(value: string): number {
  if (/^[1-9]\d{0,14}$/.test(value)) return Number(value);
  throw new InvalidArgumentError('Expected an integer above 0.');
}

function positiveNumber(value: string): number {
  const number = Number(value);
  if (/^\d/.test(value) && number > 0 && number <= 1_000_000) return number;
  throw new InvalidArgumentError('Expected a number of seconds above 0.');
}
