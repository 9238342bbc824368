// What the rows of the callables suite have in common.

import type { BenchProcess } from '../bench-process.js';
import type { Comparison } from '../comparison.js';
import type { Goal } from '../goals.js';
import type { StreamOrder } from '../load/response-stream.js';
import type { SuiteOptions } from '../suite.js';

export const SERVERS = ['thread', 'inline'] as const;
export type ServerName = (typeof SERVERS)[number];
export const TITLES: Readonly<Record<ServerName, string>> = {
  thread: 'serverThread: true',
  inline: 'serverThread: false',
};

export const ROWS = ['stream', 'ready', 'threads', 'tensor', 'fair'] as const;
export type Row = (typeof ROWS)[number];

export const RESPONSES = 10_000;

export interface Run extends SuiteOptions {
  readonly names: readonly ServerName[];
  readonly steps: number;
  readonly start: (module: string, cpus: string | undefined, ...parameters: string[]) => Promise<BenchProcess>;
}

export interface Part {
  readonly figures: object;
  readonly comparison?: Comparison;
  readonly goals: readonly Goal[];
}

export function startServer(
  run: Run,
  name: ServerName,
  row: Row | 'copies',
  cpus: string | undefined,
): Promise<BenchProcess> {
  return run.start('./servers/callables-server.js', cpus, String(name === 'thread'), row, String(run.steps));
}

export const WIRES: Readonly<Record<StreamOrder['kind'], string>> = {
  grpc: 'gRPC ModelStreamInfer',
  sse: 'generate_stream',
  chat: '/v1/chat/completions',
};
