// Load by programs of others: wrk for HTTP/1.1 and h2load for gRPC. They count answers and look at statuses, no more.

import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { HttpForm } from '../tensor-wire.js';

export const PROGRAMS = ['wrk', 'h2load'] as const;
export type Program = (typeof PROGRAMS)[number];

export interface OtherLoad {
  readonly connections: number;
  readonly seconds: number;
  /** Cores as `taskset -c` takes them; undefined where nothing is pinned. */
  readonly cpus: string | undefined;
}

export interface OtherReport {
  readonly requestsPerSecond: number;
  readonly errors: number;
}

export function isInstalled(program: Program): boolean {
  return spawnSync(program, ['--version']).error === undefined;
}

/** Sends the forms in turns. */
export async function loadByWrk(url: string, forms: readonly HttpForm[], load: OtherLoad): Promise<OtherReport> {
  return withFolder(async (folder) => {
    const requests = forms.map(({ headers, body }, i) => {
      writeFileSync(join(folder, String(i)), body);
      const lines = Object.entries(headers).map(([name, value]) => `["${name}"]="${value}"`);
      return `requests[${i + 1}] = wrk.format("POST", nil, { ${lines.join(', ')} }, read("${join(folder, String(i))}"))`;
    });
    const script = [
      'local requests, turn = {}, 0',
      'local function read(path) local file = io.open(path, "rb"); local text = file:read("*a"); file:close(); return text end',
      `function init() ${requests.join('\n')} end`,
      'function request() turn = turn % #requests + 1; return requests[turn] end',
    ];
    writeFileSync(join(folder, 'script.lua'), script.join('\n'));
    const { connections, seconds } = load;
    const flags = ['-t1', `-c${connections}`, `-d${seconds}s`, '-s', join(folder, 'script.lua'), url];
    return readWrk(await run('wrk', flags, load.cpus));
  });
}

/** Sends one message again and again. */
export async function loadByH2load(url: string, message: Buffer, load: OtherLoad): Promise<OtherReport> {
  return withFolder(async (folder) => {
    const head = Buffer.alloc(5);
    head.writeUInt32BE(message.length, 1);
    const file = join(folder, 'message');
    writeFileSync(file, Buffer.concat([head, message]));
    const { connections, seconds } = load;
    const flags = [`-c${connections}`, '-m1', '-t1', `-D${seconds}`, '-d', file];
    const headers = ['-H', 'content-type: application/grpc', '-H', 'te: trailers'];
    return readH2load(await run('h2load', [...flags, ...headers, url], load.cpus));
  });
}

export function readWrk(printed: string): OtherReport {
  const errors = /Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)/.exec(printed)?.slice(1) ?? [];
  const refused = Number(/Non-2xx or 3xx responses: (\d+)/.exec(printed)?.[1] ?? 0);
  return {
    requestsPerSecond: numberIn(printed, /Requests\/sec:\s*([\d.]+)/),
    errors: errors.reduce((sum, count) => sum + Number(count), refused),
  };
}

export function readH2load(printed: string): OtherReport {
  const counts = /(\d+) failed, (\d+) errored, (\d+) timeout/.exec(printed)?.slice(1) ?? [];
  const refused = /(\d+) 3xx, (\d+) 4xx, (\d+) 5xx/.exec(printed)?.slice(1) ?? [];
  return {
    requestsPerSecond: numberIn(printed, /finished in [^,]+, ([\d.]+) req\/s/),
    errors: [...counts, ...refused].reduce((sum, count) => sum + Number(count), 0),
  };
}

function numberIn(printed: string, pattern: RegExp): number {
  const [, text] = pattern.exec(printed) ?? [];
  if (text === undefined) throw new Error(`no rate in what the load program printed: ${printed}`);
  return Number(text);
}

async function withFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-load-'));
  try {
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function run(program: Program, flags: readonly string[], cpus: string | undefined): Promise<string> {
  const [first, ...more] = [...(cpus === undefined ? [] : ['taskset', '-c', cpus]), program, ...flags];
  const child = spawn(first!, more, { stdio: ['ignore', 'pipe', 'inherit'] });
  let printed = '';
  child.stdout.on('data', (chunk) => (printed += String(chunk)));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) =>
      code === 0 ? resolve(printed) : reject(new Error(`${program} ended with ${code}: ${printed}`)),
    );
  });
}
