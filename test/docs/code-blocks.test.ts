// Runs what the documents say. Every TypeScript block carries a comment that tells how: `<!-- test: compile -->` (it
// compiles), `run` (it runs to its end and prints what its comments say), `server` (it serves until SIGINT), `client`
// (it asks that server).
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { WAIT_MILLISECONDS } from '../support/waiting.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const OUT = join(ROOT, 'build', 'docs');
const KINDS = ['compile', 'run', 'server', 'client'] as const;

interface Block {
  readonly name: string;
  readonly kind: string;
  readonly code: string;
}

function readBlocks(): Block[] {
  const documents = [
    'README.md',
    ...readdirSync(join(ROOT, 'docs'))
      .filter((file) => file.endsWith('.md'))
      .map((file) => join('docs', file)),
  ];
  return documents.flatMap((document) => {
    const text = readFileSync(join(ROOT, document), 'utf8');
    const blocks = text.matchAll(/(?:<!-- test: (?<kind>\w+) -->\s*\n)?```ts\n(?<code>[\s\S]*?)```/g);
    return Array.from(blocks, ({ groups }, index) => ({
      name: `${document.replace(/\W+/g, '-')}-${index + 1}`,
      kind: groups?.['kind'] ?? 'unmarked',
      code: groups?.['code'] ?? '',
    }));
  });
}

/** What a block should print: the comments behind its `console.log` lines. */
function expectedOutput(code: string): string[] {
  return Array.from(code.matchAll(/^\s*console\.log\(.*\); \/\/ (.*)$/gm), ([, comment]) => normalise(comment!));
}

// Node prints the length of typed arrays; readers need not see it.
function normalise(line: string): string {
  return line.replace(/Array\(\d+\)/g, 'Array').trim();
}

function runBlock(name: string, replace: (code: string) => string = (code) => code): string[] {
  const file = join(OUT, `${name}.js`);
  writeFileSync(file, replace(readFileSync(file, 'utf8')));
  const { status, stdout, stderr } = spawnSync(process.execPath, [file], {
    encoding: 'utf8',
    timeout: WAIT_MILLISECONDS,
  });
  if (status !== 0) throw new Error(`${name} ended with code ${status}: ${stderr}`);
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map(normalise);
}

const blocks = readBlocks();

describe('code in the documents', () => {
  beforeAll(() => {
    rmSync(OUT, { recursive: true, force: true });
    mkdirSync(OUT, { recursive: true });
    for (const { name, code } of blocks) writeFileSync(join(OUT, `${name}.ts`), `${code}\nexport {};\n`);
    const options = {
      extends: '../../tsconfig.json',
      compilerOptions: { noEmit: false, rootDir: '.', outDir: '.', allowJs: false, checkJs: false },
      include: ['*.ts'],
      exclude: [],
    };
    writeFileSync(join(OUT, 'tsconfig.json'), JSON.stringify(options));
    const compiler = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin', 'tsc');
    const { status, stdout } = spawnSync(process.execPath, [compiler, '-p', OUT], { encoding: 'utf8' });
    if (status !== 0) throw new Error(stdout);
  }, 60_000);

  it('says of every block how it is tested', () => {
    expect(blocks.filter(({ kind }) => !(KINDS as readonly string[]).includes(kind)).map(({ name }) => name)).toEqual(
      [],
    );
    expect(blocks.length).toBeGreaterThan(4);
  });

  it.each(blocks.filter(({ kind }) => kind === 'run').map(({ name, code }) => [name, code]))(
    '%s prints what its comments say',
    (name, code) => {
      const expected = expectedOutput(code);
      // A block that runs should print something that it tells.
      expect(expected).not.toEqual([]);
      expect(runBlock(name)).toEqual(expected);
    },
  );

  describe('the server and the client of the README', () => {
    let server: ChildProcess;
    const ports = new Map<string, string>();

    beforeAll(async () => {
      const { name } = blocks.find(({ kind }) => kind === 'server')!;
      const env = {
        ...process.env,
        TSTRITON_CONFIG_HTTP_PORT: '0',
        TSTRITON_CONFIG_GRPC_PORT: '0',
        TSTRITON_CONFIG_METRICS_PORT: '0',
      };
      server = spawn(process.execPath, [join(OUT, `${name}.js`)], { env, stdio: ['ignore', 'ignore', 'pipe'] });
      for await (const line of createInterface({ input: server.stderr! })) {
        const [, service, port] = /Started (HTTPService|GRPCInferenceService) at .*:(\d+)/.exec(line) ?? [];
        if (service !== undefined) ports.set(service, port!);
        if (line.includes('successfully loaded')) break;
      }
    });

    afterAll(() => server.kill('SIGKILL'));

    it('serve and ask as written, apart from the ports', () => {
      const { name, code } = blocks.find(({ kind }) => kind === 'client')!;
      const printed = runBlock(name, (compiled) =>
        compiled.replace("'grpc://localhost'", `'grpc://localhost:${ports.get('GRPCInferenceService')}'`),
      );
      expect(printed).toEqual(expectedOutput(code));
    });

    it('answers the curl command of the README', async () => {
      const [, body] = /-d '([^']+)'/.exec(readFileSync(join(ROOT, 'README.md'), 'utf8'))!;
      const response = await fetch(`http://localhost:${ports.get('HTTPService')}/v2/models/AddSub/infer`, {
        method: 'POST',
        body: body!,
      });
      expect(response.status).toBe(200);
      const { outputs } = (await response.json()) as {
        readonly outputs: readonly { readonly name: string; readonly data: readonly number[] }[];
      };
      expect(outputs.map(({ name, data }) => [name, data])).toEqual([
        ['add', [11, 22]],
        ['sub', [-9, -18]],
      ]);
    });

    it('ends with code 0 on SIGINT', async () => {
      const ended = new Promise((resolve) => server.once('exit', (code) => resolve(code)));
      server.kill('SIGINT');
      expect(await ended).toBe(0);
    });
  });
});
