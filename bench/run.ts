// `npm run bench -- <suite> [options]`: runs one suite, prints its tables and keeps its samples in bench/results/.

import { parseArgs } from 'node:util';

import { choosePinning, describeMachine, loadAverage } from './machine.js';
import { writeResults } from './results-file.js';
import type { Suite, SuiteOptions } from './suite.js';
import { runBatcher } from './suites/batcher.js';
import { runCallables } from './suites/callables.js';
import { runHostile } from './suites/hostile.js';
import { runHttp2 } from './suites/http2.js';
import { runIdentity } from './suites/identity.js';
import { runOnnx } from './suites/onnx.js';

const SUITES: Readonly<Record<string, { readonly about: string; readonly run: Suite }>> = {
  identity: { about: 'HTTP JSON, HTTP binary and gRPC of the identity model beside floor servers', run: runIdentity },
  batcher: {
    about: "what a batching decision costs, and a model's throughput in batches beside the ideal",
    run: runBatcher,
  },
  callables: {
    about: 'streams of responses, readiness beside a spinning callable, instance threads, large batches, start',
    run: runCallables,
  },
  hostile: {
    about: 'what one large or malicious request does to the event loop, to health checks and to memory',
    run: runHostile,
  },
  http2: {
    about: 'HTTP/2 connections alone, small and large echoes, beside grpc-js, node:http2 and sockets',
    run: runHttp2,
  },
  onnx: { about: 'two ONNX networks over HTTP binary and gRPC beside onnxruntime alone', run: runOnnx },
};

const QUIET = 0.5; // one-minute load average before the run

const USAGE = `usage: npm run bench -- <suite> [options]

suites
${Object.entries(SUITES)
  .map(([name, { about }]) => `  ${name.padEnd(12)} ${about}`)
  .join('\n')}

options
  --rounds N            measured rounds of each server (default 5)
  --seconds S           length of a round (default 2)
  --connections A,B,…   numbers of connections (default 1,16,64)
  --quick               2 rounds of 0.5 s, to see that everything works; do not quote its figures
  --only A,B,…          only these rows; identity: http-json, http-binary, grpc; batcher: decision, closed, poisson-90, poisson-120;
                        callables: stream, ready, threads, tensor, start, fair; http2: 1x1, 16x1, 64x1, 1x64, large;
                        onnx: mlp, conv, http-binary, grpc; hostile: names of its requests
  --servers A,B,…       identity: of floor, raw (the load generator's ceiling), thread, inline (default floor,thread,inline);
                        batcher, callables: of thread, inline (default both)
                        http2: of grpc-js, bare, node-http2, ours, socket (default all)
                        onnx: of floor, floor-32, single, batched (default all)
  --server-cpus LIST    cores of each server, as for taskset (default: the first core)
  --client-cpus LIST    cores of the load generator (default: the last core)`;

function positive(text: string, option: string, isWhole: boolean): number {
  const value = Number(text);
  if (!(value > 0 && value < 1e6) || (isWhole && !Number.isInteger(value))) {
    throw new Error(`${option}: expected a positive ${isWhole ? 'integer' : 'number'}, got '${text}'`);
  }
  return value;
}

function listOf(text: string | undefined): readonly string[] | undefined {
  return text?.split(',').map((part) => part.trim());
}

function readOptions(args: readonly string[]): { readonly suite: string; readonly options: SuiteOptions } | undefined {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      rounds: { type: 'string' },
      seconds: { type: 'string' },
      connections: { type: 'string', default: '1,16,64' },
      quick: { type: 'boolean', default: false },
      only: { type: 'string' },
      servers: { type: 'string' },
      'server-cpus': { type: 'string' },
      'client-cpus': { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  const [suite] = positionals;
  if (values.help || suite === undefined) return undefined;
  if (positionals.length > 1) throw new Error(`expected one suite, got ${positionals.join(' ')}`);
  const server = values['server-cpus'];
  const client = values['client-cpus'];
  const pinning = choosePinning({
    ...(server === undefined ? {} : { server }),
    ...(client === undefined ? {} : { client }),
  });
  return {
    suite,
    options: {
      timing: {
        rounds: positive(values.rounds ?? (values.quick ? '2' : '5'), '--rounds', true),
        seconds: positive(values.seconds ?? (values.quick ? '0.5' : '2'), '--seconds', false),
        warmUpSeconds: values.quick ? 0.3 : 1,
      },
      connections: listOf(values.connections)!.map((text) => positive(text, '--connections', true)),
      only: listOf(values.only),
      servers: listOf(values.servers),
      pinning,
      print: (text) => console.log(text),
    },
  };
}

async function main(): Promise<void> {
  const read = readOptions(process.argv.slice(2));
  if (!read) {
    console.log(USAGE);
    return;
  }
  const suite = SUITES[read.suite];
  if (!suite) throw new Error(`unknown suite '${read.suite}', expected one of ${Object.keys(SUITES).join(', ')}`);
  const { timing, connections, pinning } = read.options;
  const machine = describeMachine();
  const loadBefore = loadAverage();
  console.log(`${machine.cpu}, ${machine.cores} cores, ${machine.platform}, node ${machine.node}`);
  console.log(`load average ${loadBefore.join(' ')}; ${pinning.note}`);
  if (loadBefore[0]! > QUIET) console.log('this machine is busy with other things: read ratios and CPU, not rates');
  console.log(`${timing.rounds} rounds of ${timing.seconds} s each, interleaved; medians, ratios of paired rounds\n`);

  const { comparisons, errors, figures } = await suite.run(read.options);
  const loadAfter = loadAverage();
  console.log(`\nload average ${loadAfter.join(' ')}`);
  const kept = {
    machine,
    pinning,
    timing,
    connections,
    loadAverage: { before: loadBefore, after: loadAfter },
    comparisons,
    figures,
  };
  console.log(`samples: ${await writeResults(read.suite, kept)}`);
  if (errors > 0) {
    console.error(`${errors} errors: these figures are worth nothing`);
    process.exitCode = 1;
  }
}

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
