// What `npm start` runs, as a process of its own: people see a story, in few lines, and Ctrl-C ends it.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

import { beforeAll, describe, expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const ANY_PORTS = {
  TSTRITON_CONFIG_HTTP_PORT: '0',
  TSTRITON_CONFIG_GRPC_PORT: '0',
  TSTRITON_CONFIG_METRICS_PORT: '0',
};
/** npm prints an empty line, the package, the script and an empty line before what the script prints. */
const LINES_OF_NPM = 4;

interface Ended {
  readonly code: number | null;
  /** Of both standard output and standard error. */
  readonly lines: readonly string[];
}

/** Runs it until it ends by itself or gets a Ctrl-C, at a line that begins so: by default at its last. */
function start(env: NodeJS.ProcessEnv, until = 'Then read'): Promise<Ended> {
  const child = spawn(process.execPath, ['--import', 'tsx', 'examples/serve-all.ts'], {
    cwd: ROOT,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const lines: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on('line', (line) => {
      lines.push(line);
      if (line.startsWith(until)) child.kill('SIGINT');
    });
  }
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, lines })));
}

function isTaken(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}

describe('npm start', () => {
  let ended: Ended;
  beforeAll(async () => {
    ended = await start(ANY_PORTS);
  });
  const text = () => ended.lines.join('\n');

  it('prints at most 40 lines, those of npm with them', () => {
    expect(ended.lines.length).toBeGreaterThan(15);
    expect(ended.lines.length + LINES_OF_NPM).toBeLessThanOrEqual(40);
    const { scripts } = JSON.parse(readFileSync(`${ROOT}/package.json`, 'utf8')) as { scripts: { start: string } };
    expect(scripts.start, 'what npm prints of a script in a script').toContain('npm run --silent build');
  });

  it('prints lines that fit a terminal, but for the command to copy', () => {
    expect(ended.lines.filter((line) => line.length > 120 && !line.includes('curl'))).toEqual([]);
  });

  it('says what is served, what was asked and what came back', () => {
    expect(text()).toContain('add = [11, 22, 33], sub = [-9, -18, -27]');
    expect(text()).toMatch(/Linear.*\n(.*\n)*? {2}all 1: {2}-?\d\.\d{4}/);
    const languages = ended.lines.flatMap((line) => /^ {2}([a-z]{2}) \d\.\d\d {2}\S/.exec(line)?.[1] ?? []);
    expect(languages).toEqual([...new Set(languages)]);
    expect(languages.length).toBe(9);
    const [, right, asked] = /(\d+) of (\d+) answers are right/.exec(text())!;
    expect(Number(right) / Number(asked)).toBeGreaterThan(0.98);
  });

  it('says how many executions the batcher needed', () => {
    const [, requests, executions] = /(\d+) requests ran in (\d+) executions/.exec(text())!;
    expect(Number(executions)).toBeLessThan(Number(requests) / 2);
  });

  it('ends on Ctrl-C with code 0, and nothing listens any more', async () => {
    expect(ended.code).toBe(0);
    const ports = Array.from(new Set(text().match(/(?<=localhost:)\d+/g)), Number);
    expect(ports.length).toBe(3);
    expect(await Promise.all(ports.map(isTaken))).toEqual([false, false, false]);
  });

  it.each(['AddSub adds', 'LanguageId tells'])(
    'ends on Ctrl-C with code 0 and no error, while its clients ask: after "%s"',
    async (line) => {
      const { code, lines } = await start(ANY_PORTS, line);
      expect(code).toBe(0);
      expect(lines.filter((printed) => /not available|Ports can be|Error/.test(printed))).toEqual([]);
    },
  );

  it('says in two lines what to do when a port is taken', async () => {
    const taken = createServer().listen(0);
    try {
      const { port } = taken.address() as { port: number };
      const { code, lines } = await start({ ...ANY_PORTS, TSTRITON_CONFIG_HTTP_PORT: String(port) });
      expect(code).toBe(1);
      expect(lines.length).toBe(2);
      expect(lines[0]).toContain(`:${port}' already in use; choose another httpPort`);
      expect(lines[1]).toContain('TSTRITON_CONFIG_HTTP_PORT=0');
    } finally {
      taken.close();
    }
  });
});
