// haproxy between a test and its servers. The command is Debian's package `haproxy`, or what the variable HAPROXY names.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

import { expect, onTestFinished } from 'vitest';

import { accepts, freePort } from './ports.js';
import { emptyFolder } from './temporary-files.js';

const COMMAND = process.env['HAPROXY'] ?? 'haproxy';

export const HAS_HAPROXY = spawnSync(COMMAND, ['-v']).status === 0;

export interface HaproxyOptions {
  readonly mode: 'tcp' | 'http';
  /** Of clients, servers and tunnels. */
  readonly timeout: string;
  /** Ports of the gRPC servers behind it. */
  readonly servers: readonly number[];
}

export interface Haproxy {
  readonly port: number;
  /** Resolves when a new worker serves; the connections of the old one stay. Gives the process ids of the old ones. */
  reload(): Promise<readonly number[]>;
  /** Kills it, with all its workers. */
  kill(): Promise<void>;
  /** Starts it again at the same port. */
  restart(): Promise<void>;
}

/** It is killed after the test. */
export async function startHaproxy({ mode, timeout, servers }: HaproxyOptions): Promise<Haproxy> {
  const folder = emptyFolder('tstriton-haproxy-');
  const config = join(folder, 'haproxy.cfg');
  const admin = join(folder, 'admin');
  const h2 = mode === 'http' ? ' proto h2' : '';
  let child: ChildProcess | undefined;
  let port = 0;

  const start = async (): Promise<boolean> => {
    // `-W`: a master, which can be told to reload, and workers. They end with it.
    const started = spawn(COMMAND, ['-W', '-db', '-S', admin, '-f', config], { stdio: 'ignore', detached: true });
    child = started;
    let isOver = false;
    started.once('exit', () => (isOver = true));
    // Another process may have taken the port meanwhile.
    await expect.poll(async () => isOver || (await accepts(port))).toBe(true);
    return !isOver;
  };
  const kill = async () => {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    process.kill(-child.pid!, 'SIGKILL');
    await exited;
  };
  const workers = async (): Promise<readonly (readonly string[])[]> => {
    const asked = connect(admin);
    asked.on('error', () => undefined);
    asked.end('show proc\n');
    const lines = (await text(asked).catch(() => '')).split('\n').map((line) => line.trim().split(/\s+/));
    return lines.filter(([id, kind]) => kind === 'worker' && Number(id) > 0);
  };

  onTestFinished(kill);
  do {
    port = await freePort();
    writeFileSync(
      config,
      `defaults
  mode ${mode}
  timeout connect 5s
  timeout client ${timeout}
  timeout server ${timeout}
  timeout tunnel ${timeout}
  retries 3
  option redispatch 1
frontend links
  bind 127.0.0.1:${port}${h2}
  default_backend servers
backend servers
  balance roundrobin
${servers.map((server, i) => `  server s${i} 127.0.0.1:${server}${h2}`).join('\n')}
`,
    );
  } while (!(await start()));

  return {
    port,
    reload: async () => {
      const before = (await workers()).map(([id]) => Number(id));
      child!.kill('SIGUSR2');
      const isNew = ([id]: readonly string[]) => !before.includes(Number(id));
      await expect.poll(async () => (await workers()).some(isNew)).toBe(true);
      return before;
    },
    kill,
    restart: async () => {
      await expect.poll(start).toBe(true);
    },
  };
}

/** Resolves when haproxy has ended a connection that said nothing. */
export async function idleConnectionEnds(port: number): Promise<void> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined).resume();
  await once(socket, 'close');
}
