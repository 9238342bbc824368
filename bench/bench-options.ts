// What `npm run bench` is asked for, and how to ask. Pure, but for the cores that it asks the machine about.

import { parseArgs } from 'node:util';

import { choosePinning } from './machine.js';
import type { SuiteOptions } from './suite.js';

export interface BenchRequest {
  /** A suite's name, `all`, or `page`. */
  readonly command: string;
  readonly options: Omit<SuiteOptions, 'print'>;
}

/** Before the rounds of a server. After one second a server on grpc-js still got faster. */
const WARM_UP_SECONDS = 3;

const OPTIONS = `options
  --rounds N            measured rounds of each server (default 5)
  --seconds S           length of a round (default 2)
  --connections A,B,…   numbers of connections of identity and onnx (default 1,16,64)
  --quick               2 rounds of 0.5 s and small numbers, to see that everything works; do not quote its figures, which go to
                        build/bench-quick/
  --only A,B,…          only these rows; all: only these suites; identity: http-json, http-binary, grpc;
                        large: http-sink, http-echo, grpc-sink, grpc-echo; growth: tensors, rows, models, idle, queued;
                        parts: socket, codec, engine, callable, hop; memory: start, resident; peers: http-binary, http-json, grpc;
                        batcher: decision, closed, poisson-90, poisson-120;
                        callables: stream, ready, threads, tensor, fair; http2: 1x1, 16x1, 64x1, 1x64, large;
                        onnx: mlp, conv, http-binary, grpc; hostile: names of its requests; attacks: names of its attacks
  --servers A,B,…       identity: of floor, raw (the load generator's ceiling), thread, inline (default floor,thread,inline);
                        batcher, callables, growth, memory: of thread, inline (default both); large: of floor, thread, inline, grpc-js
                        peers: of thread, inline, triton-core, triton-python, pytriton, mlserver, kserve, litserve (default all)
                        http2: of grpc-js, bare, node-http2, ours, socket (default all)
                        onnx: of floor, floor-32, single, batched (default all)
  --server-cpus LIST    cores of each server, as for taskset (default: the first core)
  --client-cpus LIST    cores of the load generator (default: the last core)

environment
  BENCH_PEERS_CACHE     folder that the suite peers installs other servers into, some 3 GB, and uses again; without it none is measured`;

export function usage(suites: Readonly<Record<string, { readonly about: string }>>): string {
  const line = (name: string, about: string): string => `  ${name.padEnd(12)} ${about}`;
  return [
    'usage: npm run bench -- <suite> [options]',
    '',
    'suites',
    ...Object.entries(suites).map(([name, { about }]) => line(name, about)),
    line('all', 'every suite, and then page'),
    line('page', 'docs/benchmarks.md of the last results of each suite in bench/results/; measures nothing'),
    '',
    OPTIONS,
  ].join('\n');
}

/** Undefined: how to ask is what is asked for. Throws for what makes no sense. */
export function readOptions(args: readonly string[]): BenchRequest | undefined {
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
  const [command] = positionals;
  if (values.help || command === undefined) return undefined;
  if (positionals.length > 1) throw new Error(`expected one suite, got ${positionals.join(' ')}`);
  const { quick: isQuick, 'server-cpus': server, 'client-cpus': client } = values;
  const seconds = positive(values.seconds ?? (isQuick ? '0.5' : '2'), '--seconds', false);
  return {
    command,
    options: {
      timing: {
        rounds: positive(values.rounds ?? (isQuick ? '2' : '5'), '--rounds', true),
        seconds,
        warmUpSeconds: isQuick ? Math.min(seconds, 0.3) : WARM_UP_SECONDS,
      },
      connections: listOf(values.connections)!.map((text) => positive(text, '--connections', true)),
      only: listOf(values.only),
      servers: listOf(values.servers),
      pinning: choosePinning({
        ...(server === undefined ? {} : { server }),
        ...(client === undefined ? {} : { client }),
      }),
      isQuick,
    },
  };
}

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
