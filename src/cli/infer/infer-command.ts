// `tstriton infer`: sends one request to a model and shows the answer.

import { Command, Option } from 'commander';

import { collect, positiveInteger } from '../arguments.js';
import type { CliIo } from '../cli-io.js';
import { addAccessFlags, TOKEN_HELP, URL_ARGUMENT } from '../server-access.js';
import { FORMATS } from './show-outputs.js';
import type { InferFlags } from './infer.js';

export function inferCommand(io: CliIo): Command {
  const command = new Command('infer')
    .summary('send a request to a model and print the answer')
    .description(
      'Sends one request to a model and prints its outputs; those of a decoupled model as they come. A server of any make does, over HTTP or gRPC.',
    )
    .helpOption('-h, --help', 'print this help')
    .argument('<url>', URL_ARGUMENT)
    .argument('<model>', 'the name of the model')
    .option(
      '-d, --data <json>',
      'the inputs as JSON, by name or as the protocol has them; @file reads a file, - standard input',
    )
    .option(
      '-i, --input <name=value>',
      'an input: JSON, a text, or @file with .npy, .json or raw bytes; again for more',
      collect,
    )
    .option('-b, --batch', 'values have the batch axis in front')
    .option('--outputs <name>', 'an output to compute; again for more of them (default: all)', collect)
    .option('-p, --parameter <name=value>', 'a parameter of the request; again for more of them', collect)
    .option('--model-version <number>', 'the version to ask (default: the latest)', positiveInteger)
    .option('--request-id <id>', 'the id of the request')
    .addOption(
      new Option(
        '-f, --format <format>',
        'for a person, JSON, or the bytes of one output (default: pretty for a terminal, else json)',
      ).choices(FORMATS),
    ) // prettier-ignore
    .option('--no-binary', 'send tensors as JSON, to servers without binary tensors');
  return addAccessFlags(command)
    .addHelpText(
      'after',
      `
Without --data and --input the inputs are read from standard input.
In JSON, NaN and the infinities are texts, 16-bit floats are numbers, and integers of 64 bits are exact.
${TOKEN_HELP}

Examples:
  tstriton infer http://localhost:8000 AddSub -i 'a=[1,2]' -i 'b=[3,4]'
  tstriton infer grpc://localhost:8001 Classify -i image=@cat.npy --format json | jq .label
  echo '{"text": "hello"}' | tstriton infer http://localhost:8000 Words`,
    )
    .action(async (url: string, model: string, flags: InferFlags) => {
      const { infer } = await import('./infer.js');
      await infer(url, model, flags, io);
    });
}
