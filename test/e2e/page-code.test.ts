// The code that the page writes for a request does what the request does, when it is pasted: curl in a shell, TypeScript in Node.
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { afterAll, describe, expect, it } from 'vitest';

import { stream, type Triton } from 'tstriton';

import { readElements } from '../../page/elements.js';
import { snippets } from '../../page/snippets.js';
import type { PageModelsJson } from '../../src/frontend/page/page-json.js';
import { startServer, type RunningServer } from '../support/start-server.js';

const run = promisify(execFile);
/** In the package, so that Node finds it by its own name. */
/** In the package, so that Node finds it by its own name. */
const BUILD = fileURLToPath(new URL('../../build/', import.meta.url));
mkdirSync(BUILD, { recursive: true });
const FOLDER = mkdtempSync(join(BUILD, 'page-code-'));
afterAll(() => rmSync(FOLDER, { recursive: true }));

const FILE = 'it is.bin';
const BYTES = Uint8Array.from({ length: 300 }, (_, i) => i % 256);
writeFileSync(join(FOLDER, FILE), BYTES);

function bind(triton: Triton): void {
  const tensors = {
    text: { dtype: 'string', shape: [1] },
    wide: { dtype: 'int64', shape: [2, 1] },
    flag: { dtype: 'bool', shape: [-1] },
    real: { dtype: 'float64', shape: [2] },
  } as const;
  triton.bind({
    modelName: 'Echo',
    inputs: tensors,
    outputs: { ...tensors, parameters: { dtype: 'string', shape: [1] } },
    config: { maxBatchSize: 2 },
    inferFunc: (requests) =>
      requests.map(({ inputs, parameters }) => ({ ...inputs, parameters: [[JSON.stringify(parameters)]] })),
  });
  const file = { image: { dtype: 'bytes', shape: [1] } } as const;
  const hexOf = (data: readonly Uint8Array[]) => Buffer.from(data[0]!).toString('hex');
  for (const [modelName, route] of [['Hex', undefined], ['Routed', 'POST /hex']] as const) {
    triton.bind({
      modelName,
      ...(route !== undefined && { route }),
      inputs: file,
      outputs: { hex: { dtype: 'string', shape: [1] } },
      config: { batching: false },
      inferFunc: (requests) => requests.map(({ inputs }) => ({ hex: [hexOf(inputs.image.data)] })),
    });
  } // prettier-ignore
  triton.bind({
    modelName: 'Words',
    inputs: { text: { dtype: 'string', shape: [1] }, times: { dtype: 'int32', shape: [2] } },
    outputs: { word: { dtype: 'string', shape: [1] } },
    config: { decoupled: true },
    inferFunc: stream(function* ({ text, times }, { requests }) {
      for (const time of times.data)
        yield { word: [[`${text.strings()[0]} ${time} ${String(requests[0]!.parameters['tone'])}`]] };
    }),
  });
}

/** The code for a request of the form, by language. */
async function codeFor(
  server: RunningServer,
  model: string,
  typed: Readonly<Record<string, string>>,
  more: { readonly parameters?: Record<string, string>; readonly tokenHeader?: string } = {},
): Promise<ReadonlyMap<string, string>> {
  const { versions } = (await (await fetch(`${server.http}/page/models`)).json()) as PageModelsJson;
  const declared = versions.find(({ name }) => name === model)!.declared!;
  const inputs = declared.inputs.map((spec) => {
    const given = typed[spec.name]!;
    if (spec.dtype === 'bytes') return { spec, shape: [1], literals: undefined, file: given };
    const { shape, values } =
      spec.dtype === 'string' ? { shape: [1], values: [JSON.stringify(given)] } : readElements(given, spec);
    return { spec, shape, literals: Array.from(values, String) };
  });
  const { parameters = {}, tokenHeader } = more;
  return new Map(
    snippets({
      origin: server.http,
      grpc: undefined,
      model,
      version: undefined,
      declared,
      inputs,
      parameters,
      tokenHeader,
    }),
  );
}

async function shell(code: string): Promise<string> {
  const env = { ...process.env, TRITON_ACCESS_TOKEN: 'secret' };
  return (await run('sh', ['-c', code.replace(/^( *)curl /gm, '$1curl -s ')], { cwd: FOLDER, env })).stdout;
}

async function node(code: string): Promise<string> {
  const path = join(FOLDER, 'code.mjs');
  const printed = code.replaceAll(
    'console.log(outputs)',
    'for (const [n, t] of Object.entries(outputs)) if (t) console.log(n, String(t.data[0] instanceof Uint8Array ? t.strings() : t.data))',
  );
  writeFileSync(path, printed);
  return (await run(process.execPath, [path], { cwd: FOLDER, env: { ...process.env, TRITON_ACCESS_TOKEN: 'secret' } }))
    .stdout;
}

describe('the code of a request', () => {
  it('sends the same values: texts, wide integers, truth and parameters, with the token', async () => {
    await using server = await startServer(bind, { restrictedEndpoints: ['inference'], accessToken: 'secret' });
    const text = `it's "é"\n$HOME \\n`;
    const code = await codeFor(
      server,
      'Echo',
      {
        text: text,
        wide: '[[9007199254740993], [-1]]',
        flag: 'true false true',
        real: '0.1 -3',
      },
      { parameters: { tone: "o'k" }, tokenHeader: 'triton-access-token' },
    );
    const { outputs } = JSON.parse((await shell(code.get('curl')!)).replace('9007199254740993', '"9007199254740993"'));
    const data = Object.fromEntries(outputs.map((output: any) => [output.name, output.data]));
    expect(data).toEqual({
      text: [text],
      wide: ['9007199254740993', -1],
      flag: [true, false, true],
      real: [0.1, -3],
      parameters: ['{"tone":"o\'k"}'],
    });
    const printed = await node(code.get('TypeScript')!);
    expect(printed).toContain(
      `text ${text}\nwide 9007199254740993,-1\nflag 1,0,1\nreal 0.1,-3\nparameters {"tone":"o'k"}`,
    );
  });

  it.each(['Hex', 'Routed'])('sends a file, to a model with a route of its own and without: %s', async (model) => {
    await using server = await startServer(bind);
    const code = await codeFor(server, model, { image: FILE });
    const hex = Buffer.from(BYTES).toString('hex');
    expect(await shell(code.get('curl')!)).toContain(hex);
    expect(await node(code.get('TypeScript')!)).toBe(`hex ${hex}\n`);
  });

  it('reads a stream', async () => {
    await using server = await startServer(bind);
    const code = await codeFor(server, 'Words', { text: 'a', times: '7, 8' }, { parameters: { tone: 'low' } });
    const events = (await shell(code.get('curl')!)).split('\n').filter((line) => line !== '');
    expect(events.map((line) => JSON.parse(line.slice(5)).word)).toEqual(['a 7 low', 'a 8 low']);
    expect(await node(code.get('TypeScript')!)).toBe('word a 7 low\nword a 8 low\n');
  });
});
