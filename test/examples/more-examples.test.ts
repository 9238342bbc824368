// Examples that need more than a server and a client: files to fetch, variables, applications, several servers, stand-ins for networks.
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { Triton } from 'tstriton';
import { ModelClient } from 'tstriton/client';
import { describe, expect, it, onTestFinished, vi } from 'vitest';

import { balance } from '../../examples/balanced/balancer.js';
import { askLanguage } from '../../examples/browser-page/ask.js';
import { servePage } from '../../examples/browser-page/server.js';
import { bindLanguageId } from '../../examples/language-id/server.js';
import { askUntil } from '../../examples/balanced/client.js';
import { numberedServer } from '../../examples/balanced/server.js';
import { askDigests, fileServer } from '../../examples/downloaded-input/client.js';
import { bindDigest } from '../../examples/downloaded-input/server.js';
import { askApplication } from '../../examples/mounting/client.js';
import { double, modelServer } from '../../examples/mounting/models.js';
import { FRAMEWORKS } from '../../examples/mounting/server.js';
import { askPrimes } from '../../examples/multi-instance/client.js';
import { bindPrimes } from '../../examples/multi-instance/server.js';
import { askLlama } from '../../examples/node-llama-cpp/client.js';
import { bindLlama } from '../../examples/node-llama-cpp/server.js';
import { inputData, measure } from '../../examples/perf-analyzer/client.js';
import { bindCount, count } from '../../examples/perf-analyzer/server.js';
import { askZeroShot } from '../../examples/transformers-js/client.js';
import { bindZeroShot, loadClassifier } from '../../examples/transformers-js/server.js';
import { askVertex } from '../../examples/vertex-ai/client.js';
import { config as vertexConfig } from '../../examples/vertex-ai/server.js';
import { bindAddSub } from '../../examples/add-sub/server.js';
import { FREE_PORTS, startServer } from '../support/start-server.js';
import { WAIT_MILLISECONDS } from '../support/waiting.js';
import { watchedProcess } from '../support/watched-process.js';

const EXAMPLES = fileURLToPath(new URL('../../examples/', import.meta.url));
const buildFolder = (): string => {
  const folder = join(EXAMPLES, '..', 'build');
  mkdirSync(folder, { recursive: true });
  return folder;
};
const readme = (name: string) => readFileSync(join(EXAMPLES, name, 'README.md'), 'utf8');
const shownIn = (name: string) => /```text\n([\s\S]*?)```/.exec(readme(name))![1]!;

async function printedBy(action: () => Promise<void>): Promise<string> {
  const lines: string[] = [];
  const log = vi.spyOn(console, 'log').mockImplementation((line: string) => void lines.push(`${line}\n`));
  try {
    await action();
  } finally {
    log.mockRestore();
  }
  return lines.join('');
}

describe('each example', () => {
  const names = readdirSync(EXAMPLES, { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? [entry.name] : [],
  );

  it('is in the table of examples, once', () => {
    const table = readFileSync(join(EXAMPLES, 'README.md'), 'utf8');
    expect(names.filter((name) => table.split(`](${name})`).length !== 2)).toEqual([]);
  });

  it('says how it is started, and tells what people can mend in one line', () => {
    const started = names.filter((name) => readme(name).includes('```sh'));
    expect(started).toEqual(names);
    const programs = names.flatMap((name) =>
      readdirSync(join(EXAMPLES, name)).flatMap((file) =>
        /^(?:server|client)\.ts$/.test(file) ? [join(name, file)] : [],
      ),
    );
    expect(programs.length).toBeGreaterThan(40);
    const plain = programs.filter((file) => !readFileSync(join(EXAMPLES, file), 'utf8').includes('await whenStarted('));
    expect(plain).toEqual([]);
  });
});

describe('the example multi-instance', () => {
  it('answers from two threads, as its README shows', async () => {
    await using server = await startServer((triton) => bindPrimes(triton, 2));
    expect(await printedBy(() => askPrimes(server.grpc))).toBe(shownIn('multi-instance'));
  });
});

describe('the example downloaded-input', () => {
  it.each(['http', 'grpc'] as const)('fetches what it may over %s, as its README shows', async (wire) => {
    const files = await fileServer(0);
    onTestFinished(files.close);
    await using server = await startServer((triton) => bindDigest(triton, new Set([files.host])));
    const printed = await printedBy(() => askDigests(server[wire], files.host));
    expect(printed.replaceAll(files.host, 'localhost:9000')).toBe(shownIn('downloaded-input'));
  });
});

describe('the example vertex-ai', () => {
  it('answers on the routes that the environment names', async () => {
    vi.stubEnv('AIP_MODE', 'PREDICTION');
    vi.stubEnv('AIP_HTTP_PORT', '0');
    vi.stubEnv('AIP_PREDICT_ROUTE', '/predict');
    vi.stubEnv('AIP_HEALTH_ROUTE', '/health');
    await using triton = new Triton({ logFile: FREE_PORTS.logFile, ...vertexConfig });
    bindAddSub(triton);
    await triton.run();
    const url = `http://127.0.0.1:${triton.vertexAiPort}`;
    const printed = await printedBy(() => askVertex(url, { predict: '/predict', health: '/health' }));
    expect(printed).toBe(shownIn('vertex-ai'));
  });
});

describe('the example mounting', () => {
  const titles = { express: 'Express', fastify: 'Fastify', hono: 'Hono' } as const;

  it.each(['express', 'fastify', 'hono'] as const)('serves a page and a model in %s', async (name) => {
    await using triton = modelServer();
    const server = await FRAMEWORKS[name](triton, 0);
    onTestFinished(() => void server.close());
    await triton.run();
    const { port } = server.address() as AddressInfo;
    const printed = await printedBy(() => askApplication(`http://localhost:${port}`));
    expect(printed).toBe(shownIn('mounting').replace('Express', titles[name]));
  });

  it('answers as a route of Next', async () => {
    const { POST, stop } = await import('../../examples/mounting/next.js');
    try {
      const body = JSON.stringify({ x: [1, 2] });
      const request = new Request(`http://localhost/api/v2/models/${double.modelName}/generate`, {
        method: 'POST',
        body,
      });
      expect(await (await POST(request)).json()).toMatchObject({ y: [2, 4] });
    } finally {
      await stop();
    }
  });
});

describe('the example perf-analyzer', () => {
  it('writes texts that the model takes', async () => {
    await using server = await startServer(bindCount);
    await using client = new ModelClient(server.grpc, count);
    const counts = inputData.data.map(({ text }) => client.inferSample({ text: text.content }));
    expect((await Promise.all(counts)).map(({ words }) => words.data[0])).toEqual([1, 2, 4, 2]);
  });

  it.skipIf(process.platform === 'win32')('runs the tool with the file, and prints its report', () => {
    const folder = mkdtempSync(join(buildFolder(), 'perf-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const tool = join(folder, 'perf_analyzer');
    writeFileSync(tool, '#!/bin/sh\necho "$@"\nwhile [ "$1" != --input-data ]; do shift; done\ncat "$2"\n');
    chmodSync(tool, 0o755);
    const report = measure('localhost:8001', tool);
    expect(report).toContain('-m Count -u localhost:8001 -i grpc');
    expect(report).toContain(JSON.stringify(inputData));
  });

  it('says in one line that the tool is not there', () => {
    expect(() => measure('localhost:8001', 'no-such-perf_analyzer')).toThrow(
      /^no-such-perf_analyzer is not on the PATH: .*$/,
    );
  });
});

describe('the example notebook', () => {
  it('prints what its README and its cells show', () => {
    const notebook = JSON.parse(readFileSync(join(EXAMPLES, 'notebook', 'add-sub.ipynb'), 'utf8')) as {
      cells: { cell_type: string; source: string[]; outputs?: { text: string[] }[] }[];
    };
    const cells = notebook.cells.filter(({ cell_type: type }) => type === 'code');
    const folder = mkdtempSync(join(buildFolder(), 'notebook-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    writeFileSync(join(folder, 'cells.mts'), cells.map(({ source }) => source.join('')).join('\n'));
    const { stdout, stderr } = spawnSync(process.execPath, ['--import', 'tsx', join(folder, 'cells.mts')], {
      encoding: 'utf8',
      timeout: WAIT_MILLISECONDS,
    });
    expect(stderr).toBe('');
    expect(stdout).toBe(shownIn('notebook'));
    expect(stdout).toBe(cells.flatMap(({ outputs = [] }) => outputs.flatMap(({ text }) => text)).join(''));
  });
});

describe('the example balanced', () => {
  it('loses no request while one of three servers is restarted', async () => {
    const start = async (number: number, httpPort = 0) => {
      const triton = numberedServer(number, { httpPort, httpAddress: '127.0.0.1', logFile: FREE_PORTS.logFile });
      onTestFinished(() => triton.stop());
      await triton.run();
      return triton;
    };
    const servers = await Promise.all([0, 1, 2].map((number) => start(number)));
    const balancer = await balance(
      0,
      servers.map(({ httpPort }) => httpPort!),
    );
    onTestFinished(balancer.close);
    const { port } = balancer.server.address() as AddressInfo;
    await expect.poll(() => balancer.readyCount).toBe(3);

    let isOver = false;
    const asking = askUntil(`http://127.0.0.1:${port}`, () => isOver);
    const { httpPort } = servers[1]!;
    await servers[1]!.stop();
    await start(7, httpPort);
    await expect.poll(() => balancer.readyCount).toBe(3);
    await expect.poll(async () => (await askUntil(`http://127.0.0.1:${port}`, asked(64))).byServer.has(7)).toBe(true);
    isOver = true;
    const { failed, byServer } = await asking;
    expect(failed).toBe(0);
    expect([...byServer.keys()]).toEqual(expect.arrayContaining([0, 2]));
    expect(readme('balanced')).toContain('0 requests failed');
  });

  /** True when it has been asked so often. */
  function asked(times: number): () => boolean {
    let left = times;
    return () => left-- <= 0;
  }
});

describe('the example browser-page', () => {
  it('answers the client for browsers, as its README shows', async () => {
    await using server = await startServer(bindLanguageId);
    expect(`${await askLanguage(server.http, 'Wo ist der Bahnhof?')}\n`).toBe(shownIn('browser-page'));
  });

  it('serves the page, and a script that needs nothing of Node', async () => {
    const page = await servePage(0, 'http://localhost:8000');
    onTestFinished(() => void page.close());
    const url = `http://127.0.0.1:${(page.address() as AddressInfo).port}`;
    expect(await (await fetch(`${url}/`)).text()).toContain("askLanguage('http://localhost:8000', text)");
    const script = await (await fetch(`${url}/ask.js`)).text();
    expect(script).toContain('LanguageId');
    expect(script).not.toMatch(/from\s*"(?:node:|tstriton)/);
  });
});

describe('the example transformers-js', () => {
  const classify = (_: string, labels: readonly string[]) =>
    Promise.resolve({
      labels: ['sport', 'politics', 'cooking'].filter((label) => labels.includes(label)),
      scores: [0.9, 0.06, 0.04],
    });

  it('answers with the labels of the request, the best first', async () => {
    const env = { localModelPath: '', allowRemoteModels: true };
    const transformers = { env, pipeline: () => Promise.resolve(classify) };
    const loaded = await loadClassifier(transformers, '/models');
    expect(env).toEqual({ localModelPath: '/models', allowRemoteModels: false });
    await using server = await startServer((triton) => bindZeroShot(triton, loaded));
    const printed = await printedBy(() => askZeroShot(server.grpc));
    expect(printed.split('\n').slice(1, 3)).toEqual(['  sport: 0.90', '  politics: 0.06']);
  });

  it('says in one line that the weights are missing', async () => {
    const pipeline = () => Promise.reject(new Error('fetch failed\nwith a long story'));
    const env = { localModelPath: '', allowRemoteModels: true };
    await expect(loadClassifier({ env, pipeline })).rejects.toThrow(
      /^the weights of \S+ cannot be read .*TRANSFORMERS_MODELS$/,
    );
  });

  it('says in one line that the package is missing', async () => {
    expect(await startedAlone('transformers-js/server.ts')).toBe(shownIn('transformers-js'));
  });
});

describe('the example node-llama-cpp', () => {
  class LlamaChatSession {
    async prompt(text: string, { onTextChunk }: { onTextChunk(text: string): void }): Promise<string> {
      for (const word of text.split(' ')) {
        onTextChunk(`${word.toUpperCase()} `);
        await Promise.resolve();
      }
      return text;
    }
  }
  const sequences = { disposed: 0 };
  const context = { getSequence: () => ({ dispose: () => void sequences.disposed++ }) };
  const model = { createContext: () => Promise.resolve(context) };
  const llama = { getLlama: () => Promise.resolve({ loadModel: () => Promise.resolve(model) }), LlamaChatSession };

  it('streams the tokens of different chats to their own clients', async () => {
    await using triton = new Triton({ ...FREE_PORTS });
    await bindLlama(triton, llama, 'model.gguf');
    await triton.run();
    const answers = ['why is the sky blue', 'what is a batch'].map(async (question) => {
      let text = '';
      for await (const token of askLlama(`http://127.0.0.1:${triton.httpPort}`, question)) text += token;
      return text.trim();
    });
    expect(await Promise.all(answers)).toEqual(['WHY IS THE SKY BLUE', 'WHAT IS A BATCH']);
    expect(sequences.disposed).toBe(2);
  });

  it('says in one line that the model file is missing', async () => {
    expect(await startedAlone('node-llama-cpp/server.ts')).toBe(shownIn('node-llama-cpp'));
  });
});

describe('an example whose port is taken', () => {
  const ownPort = /^listen EADDRINUSE: .*; give another port as an argument\n$/;

  it.each([
    ['add-sub/server.ts', 'HTTP_PORT', /choose another httpPort.*: TSTRITON_CONFIG_HTTP_PORT=0 node \S+\n$/],
    ['remote/server.ts', 'GRPC_PORT', /choose another grpcPort.*: TSTRITON_CONFIG_GRPC_PORT=0 node \S+\n$/],
    [
      'vertex-ai/server.ts',
      'VERTEX_AI_PORT',
      /choose another vertexAiPort.*: TSTRITON_CONFIG_VERTEX_AI_PORT=0 node \S+\n$/,
    ],
    ['balanced/server.ts', '1', /choose another httpPort.*: node \S+ 1 8011\n$/],
    ['balanced/balancer.ts', undefined, ownPort],
    ['mounting/server.ts', 'express', ownPort],
    ['browser-page/server.ts', undefined, ownPort],
    ['downloaded-input/client.ts', 'grpc://localhost', ownPort],
  ])('%s says in one line what to do', async (file, before, line) => {
    const taken = createServer().listen(0);
    onTestFinished(() => void taken.close());
    const port = String((taken.address() as AddressInfo).port);
    vi.stubEnv('TSTRITON_CONFIG_LOG_INFO', 'false');
    vi.stubEnv('REMOTE_TOKEN', 'secret');
    vi.stubEnv('AIP_PREDICT_ROUTE', '/predict');
    vi.stubEnv('AIP_HEALTH_ROUTE', '/health');
    for (const name of ['HTTP_PORT', 'GRPC_PORT', 'METRICS_PORT']) vi.stubEnv(`TSTRITON_CONFIG_${name}`, '0');
    const isVariable = before?.endsWith('_PORT') === true;
    if (isVariable) vi.stubEnv(`TSTRITON_CONFIG_${before}`, port);
    const output = await startedAlone(file, isVariable ? [] : before === undefined ? [port] : [before, port]);
    expect(output).toMatch(line);
    expect(output.split('\n')).toHaveLength(2);
  });
});

describe('an example whose server is not there', () => {
  it
    .skipIf(process.platform === 'darwin')
    .each(['add-sub', 'parameters-and-headers', 'downloaded-input', 'mounting', 'text-model'])(
    'the client of %s says in one line what to do',
    async (name) => {
      // Nothing listens there, and nothing will: the port is taken at another address.
      const taken = createServer().listen(0, '127.0.0.1');
      onTestFinished(() => void taken.close());
      await once(taken, 'listening');
      const { port } = taken.address() as AddressInfo;
      const args = [`http://127.0.0.2:${port}`, ...(name === 'downloaded-input' ? ['0'] : [])];
      expect(await startedAlone(`${name}/client.ts`, args)).toMatch(
        /^.*connection refused; start the server of the example first, or give its address as an argument\n$/,
      );
    },
  );
});

/** What a program that cannot go on writes, to both streams. */
async function startedAlone(file: string, args: readonly string[] = []): Promise<string> {
  const child = watchedProcess(['--import', 'tsx', join(EXAMPLES, file), ...args]);
  expect(await child.ended).toBe(1);
  return child.output;
}
