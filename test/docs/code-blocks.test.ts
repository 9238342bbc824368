// Runs what the documents say. Every TypeScript block carries a comment that tells how: `<!-- test: compile -->` (it
// compiles), `run` (it runs to its end and prints what its comments say), `server` (it serves until SIGINT), `client`
// (it asks the server of its page, and prints what its comments say). A shell block with `curl` asks that server too,
// and the block after it is what it prints. The cells of a notebook (`cell`) run here one after the other, as one program;
// `test/notebooks` runs them in a kernel. Shell blocks marked `cli` are run by `cli-page.test.ts`.
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { WAIT_MILLISECONDS } from '../support/waiting.js';
import { curl } from './curl.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const OUT = join(ROOT, 'build', 'docs');
const KINDS = ['compile', 'run', 'server', 'client', 'curl', 'cli'] as const;
const LANGUAGES = { compile: 'ts', run: 'ts', server: 'ts', client: 'ts', curl: 'sh', cli: 'sh' } as const;

interface Block {
  readonly name: string;
  readonly document: string;
  readonly kind: string;
  readonly language: string;
  readonly code: string;
  /** What the next block says, as far as it follows at once. */
  readonly next: string;
}

function readBlocks(): Block[] {
  const documents = [
    'README.md',
    ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.md'))
      .map((file) => join('docs', file)),
  ];
  return documents.flatMap((document) => {
    const text = readFileSync(join(ROOT, document), 'utf8');
    const blocks = text.matchAll(
      /(?:<!-- test: (?<kind>\w+) -->\s*\n)?```(?<language>ts|sh)\n(?<code>[\s\S]*?)```(?=(?:\s+```\w+\n(?<next>[\s\S]*?)```)?)/g,
    );
    const all = Array.from(blocks, ({ groups }, index) => ({
      name: `${document.replace(/\W+/g, '-')}-${index + 1}`,
      document,
      kind: groups!['kind'] ?? 'unmarked',
      language: groups!['language']!,
      code: groups!['code']!,
      next: groups!['next'] ?? '',
    }));
    const cells = all.filter(({ kind }) => kind === 'cell');
    const program = cells.map(({ code }) => code).join('');
    return all.flatMap((block) =>
      block.kind !== 'cell' ? [block] : block === cells[0] ? [{ ...block, kind: 'run', code: program }] : [],
    );
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

/** Documents lay JSON out for readers; anything else they have as it comes. */
function readAnswer(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text.trim();
  }
}

async function runBlock(name: string, replace: (code: string) => string = (code) => code): Promise<string[]> {
  const file = join(OUT, `${name}.js`);
  writeFileSync(file, replace(readFileSync(file, 'utf8')));
  const child = spawn(process.execPath, [file], { stdio: ['ignore', 'pipe', 'pipe'], timeout: WAIT_MILLISECONDS });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const status = await new Promise((resolve) => child.once('close', resolve));
  if (status !== 0) throw new Error(`${name} ended with code ${String(status)}: ${stderr}`);
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map(normalise);
}

const blocks = readBlocks();
const named = (chosen: readonly Block[]) => chosen.map((block) => [block.name, block] as const);

describe('code in the documents', () => {
  beforeAll(() => {
    rmSync(OUT, { recursive: true, force: true });
    mkdirSync(OUT, { recursive: true });
    for (const { name, language, code } of blocks) {
      if (language === 'ts') writeFileSync(join(OUT, `${name}.ts`), `${code}\nexport {};\n`);
    }
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

  it('says of every TypeScript block how it is tested', () => {
    const marked = ({ kind, language }: Block) =>
      KINDS.some((known) => known === kind && LANGUAGES[known] === language) ||
      (kind === 'unmarked' && language === 'sh');
    expect(blocks.filter((block) => !marked(block)).map(({ name }) => name)).toEqual([]);
    expect(blocks.length).toBeGreaterThan(4);
  });

  it.each(named(blocks.filter(({ kind }) => kind === 'run')))(
    '%s prints what its comments say',
    async (name, { code }) => {
      const expected = expectedOutput(code);
      // A block that runs should print something that it tells.
      expect(expected).not.toEqual([]);
      expect(await runBlock(name)).toEqual(expected);
    },
  );

  const served = blocks.filter(({ kind }) => kind === 'server');

  it('has one server a page, and one on each page with something that asks it', () => {
    const pages = served.map(({ document }) => document);
    expect(pages).toEqual([...new Set(pages)]);
    const asking = blocks.filter(({ kind }) => kind === 'client' || kind === 'curl');
    expect(new Set(asking.map(({ document }) => document))).toEqual(new Set(pages));
  });

  describe.each(served.map(({ document, name }) => [document, name] as const))('the server of %s', (document, name) => {
    let server: ChildProcess;
    const ports = new Map<string, string>();

    beforeAll(async () => {
      const env = {
        ...process.env,
        TSTRITON_CONFIG_HTTP_PORT: '0',
        TSTRITON_CONFIG_GRPC_PORT: '0',
        TSTRITON_CONFIG_METRICS_PORT: '0',
      };
      server = spawn(process.execPath, [join(OUT, `${name}.js`)], { env, stdio: ['ignore', 'ignore', 'pipe'] });
      const models = readFileSync(join(OUT, `${name}.js`), 'utf8').split('.bind(').length - 1;
      let loaded = 0;
      for await (const line of createInterface({ input: server.stderr! })) {
        const [, service, port] = /Started (HTTPService|GRPCInferenceService) at .*:(\d+)/.exec(line) ?? [];
        if (service !== undefined) ports.set(service, port!);
        if (line.includes('successfully loaded') && ++loaded === models) break;
      }
    });

    afterAll(() => server.kill('SIGKILL'));

    const here = blocks.filter((block) => block.document === document);
    const atThePorts = (text: string) =>
      text
        .replaceAll(/http:\/\/localhost(:8000)?(?!:)/g, `http://localhost:${ports.get('HTTPService')}`)
        .replaceAll(/grpc:\/\/localhost(:8001)?(?!:)/g, `grpc://localhost:${ports.get('GRPCInferenceService')}`);

    const atTheDefaultPorts = (text: string) =>
      text
        .replaceAll(`:${ports.get('HTTPService')}`, ':8000')
        .replaceAll(`:${ports.get('GRPCInferenceService')}`, ':8001');

    it.each(named(here.filter(({ kind }) => kind === 'client')))('answers %s', async (client, { code }) => {
      const expected = expectedOutput(code);
      expect(expected).not.toEqual([]);
      const printed = await runBlock(client, atThePorts);
      expect(printed.map(atTheDefaultPorts)).toEqual(expected);
    });

    it.each(named(here.filter(({ kind }) => kind === 'curl')))('answers the command %s', async (_, { code, next }) => {
      const printed = await curl(code, atThePorts);
      expect(readAnswer(printed)).toEqual(readAnswer(next));
    });

    it('ends with code 0 on SIGINT', async () => {
      const ended = new Promise((resolve) => server.once('exit', (code) => resolve(code)));
      server.kill('SIGINT');
      expect(await ended).toBe(0);
    });
  });
});
