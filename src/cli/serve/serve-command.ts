// `tstriton serve`: serves the models of modules and ONNX files.

import { Command } from 'commander';

import type { CliIo } from '../cli-io.js';
import { positiveInteger } from '../arguments.js';
import { addOptionFlags } from './option-flags.js';
import type { ServeFlags } from './serve-flags.js';

export function serveCommand(io: CliIo): Command {
  const command = new Command('serve')
    .summary('serve the models of modules and ONNX files')
    .description(
      'Serves models over HTTP and gRPC until Ctrl-C: those that modules export, in TypeScript or JavaScript, and ONNX files. Tells on standard error where it serves, and how each model is asked.',
    )
    .argument(
      '[files...]',
      'modules (.ts, .js, …) and .onnx files; without any, those that the configuration file names',
    )
    .optionsGroup('Command:')
    .helpOption('-h, --help', 'print this help')
    .option('-w, --watch', 'serve files anew when they change, without dropping a request')
    .option(
      '-c, --config <file>',
      'the configuration file (default: tstriton.config.ts, .mts, .js, .mjs or .json, if there is one)',
    )
    .option('--name <name>', 'the name that an ONNX file is served under')
    .option(
      '--instances <count>',
      'threads for an ONNX file, or for a module whose default export is the callable',
      positiveInteger,
    )
    .option('--max-batch-size <rows>', 'the most rows of a batch, of an ONNX file', positiveInteger)
    .option('--json', 'print one line of JSON with the addresses and models when they are served')
    .option('-q, --quiet', 'do not tell how the models are asked')
    .addHelpText(
      'after',
      `
Options of the server also come from TSTRITON_CONFIG_… variables, and from the configuration file. Flags count first,
then variables, then the file.

Examples:
  tstriton serve model.ts --watch
  tstriton serve resnet50.onnx --instances 2 --http-port 9000
  tstriton serve models/*.ts --allow-grpc=false --metrics-config summary_latencies=true`,
    );
  return addOptionFlags(command).action(async (files: readonly string[], flags: ServeFlags) => {
    const { serve } = await import('./serve.js');
    await serve(files, flags, io);
  });
}
