// `tstriton bench`: load on a model, and how long its answers take.

import { Command, Option } from 'commander';

import { collect, positiveInteger, positiveNumber } from '../arguments.js';
import type { CliIo } from '../cli-io.js';
import { addAccessFlags, TOKEN_HELP, URL_ARGUMENT } from '../server-access.js';
import type { BenchFlags } from './bench.js';

export function benchCommand(io: CliIo): Command {
  const command = new Command('bench')
    .summary('put load on a model and measure its latency')
    .description(
      'Sends requests to a model, so many at a time, each as soon as one has been answered, and tells throughput, percentiles and the distribution of latencies. Without --input the values are made up from the shapes of the model.',
    )
    .helpOption('-h, --help', 'print this help')
    .argument('<url>', URL_ARGUMENT)
    .argument('<model>', 'the name of the model')
    .option('-c, --concurrency <count>', 'requests at a time', positiveInteger, 8)
    .option('-t, --duration <seconds>', 'how long it is measured', positiveNumber, 10)
    .option('-n, --requests <count>', 'ends after so many requests, if the time is not up before', positiveInteger)
    .option('--warmup <seconds>', 'how long requests are sent before', positiveNumber, 1)
    .addOption(
      new Option('--sequences <count>', 'sequences at a time, in place of requests at a time')
        .argParser(positiveInteger)
        .conflicts(['concurrency', 'rows']),
    )
    .option('--sequence-length <count>', 'requests of a sequence, the last with END (default: 20)', positiveInteger)
    .option('-r, --rows <count>', 'rows of a request, where the model batches', positiveInteger, 1)
    .option(
      '-i, --input <name=value>',
      'an input, without the batch axis: JSON, a text, or @file; again for more',
      collect,
    )
    .option('--model-version <number>', 'the version to ask (default: the latest)', positiveInteger)
    .option('--json', 'print the figures as JSON')
    .option('--no-binary', 'send tensors as JSON, to servers without binary tensors');
  return addAccessFlags(command)
    .addHelpText(
      'after',
      `
Latencies are in milliseconds, and within a percent. Of a slow model each sender measures one request at least. The command ends with 1 when a request failed.
${TOKEN_HELP}

Examples:
  tstriton bench http://localhost:8000 AddSub -c 32 -t 30
  tstriton bench grpc://localhost:8001 Total --sequences 16 --sequence-length 50
  tstriton bench grpc://localhost:8001 Classify -i image=@cat.npy --rows 4 --json > figures.json`,
    )
    .action(async (url: string, model: string, flags: BenchFlags) => {
      const { bench } = await import('./bench.js');
      await bench(url, model, flags, io);
    });
}
