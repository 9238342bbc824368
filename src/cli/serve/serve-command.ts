// `tstriton serve`: serves the models of modules, ONNX files and model repositories.

import { Command } from 'commander';

import { invalidArg } from '../../errors.js';
import type { CliIo } from '../cli-io.js';
import { certificateFile, keyFile, positiveInteger } from '../arguments.js';
import { addOptionFlags } from './option-flags.js';
import type { ServeFlags } from './serve.js';

export function serveCommand(io: CliIo): Command {
  const command = new Command('serve')
    .summary('serve the models of modules, ONNX files and model repositories')
    .description(
      'Serves models over HTTP and gRPC until Ctrl-C: those that modules export, in TypeScript or JavaScript, ONNX files, and model repositories. Tells on standard error where it serves, and how each model is asked.',
    )
    .argument(
      '[files...]',
      'modules (.ts, .js, …) and .onnx files; without any, those that the configuration file names, or the model repository alone',
    )
    .optionsGroup('Command:')
    .helpOption('-h, --help', 'print this help')
    .option('-w, --watch', 'serve files anew when they change, without dropping a request')
    .option(
      '-c, --config <file>',
      'the configuration file (default: tstriton.config.ts, .mts, .js, .mjs or .json, if there is one)',
    )
    .option(
      '--remote <url>',
      'serve through the server of another process, at its gRPC port (grpc://host:8001), with its --remote-access-token; or through a tritonserver, with --engine tritonserver',
    )
    .option(
      '--instance-address <address>',
      'with --remote and --engine tritonserver: where its instances find this process, the path of a Unix socket or host:port',
    )
    .option(
      '--remote-ca <file>',
      'with --remote: trusted authorities in PEM form, for grpcs:// and https://',
      certificateFile,
    )
    .option(
      '--remote-cert <file>',
      'with --remote: the certificate that this process shows, in PEM form',
      certificateFile,
    )
    .option('--remote-key <file>', 'with --remote: the key of that certificate', keyFile)
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
  tstriton serve --model-repository models --model-control-mode poll
  tstriton serve model.ts --remote grpc://localhost:8001
  tstriton serve model.ts --engine tritonserver --remote http://triton:8000 --instance-address /sockets/app
  tstriton serve models/*.ts --allow-grpc=false --metrics-config summary_latencies=true`,
    );
  return addOptionFlags(command).action(async (files: readonly string[], flags: ServeFlags) => {
    if (flags.remote !== undefined) {
      const { serveRemote } = await import('./serve-remote.js');
      return serveRemote(files, flags, io);
    }
    if (flags.instanceAddress !== undefined) {
      throw invalidArg('--instance-address is for --remote with --engine tritonserver');
    }
    if ((flags.remoteCa ?? flags.remoteCert ?? flags.remoteKey) !== undefined) {
      throw invalidArg('--remote-ca, --remote-cert and --remote-key are for --remote');
    }
    const { serve } = await import('./serve.js');
    return serve(files, flags, io);
  });
}
