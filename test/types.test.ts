// The tests in test/types are compiled, never run: each `@ts-expect-error` there is a test that bad code is refused. The
// newest compiler and the last one that is written in JavaScript, which most people have, must agree. `.ci/run` asks the
// oldest one that is enough, too.
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const TYPES = join(ROOT, 'test', 'types');
const COMPILERS = ['typescript', 'typescript-5.9'] as const;
type Compiler = (typeof COMPILERS)[number];

const require = createRequire(import.meta.url);

/** What a compiler has to say about the project in `folder`: nothing when it compiles. */
function compile(compiler: Compiler, folder: string): Promise<string> {
  const tsc = join(dirname(require.resolve(`${compiler}/package.json`)), 'bin', 'tsc');
  return new Promise((resolve) => {
    execFile(process.execPath, [tsc, '--noEmit', '-p', folder], { cwd: ROOT }, (error, stdout, stderr) => {
      resolve(error === null ? '' : stdout + stderr || error.message);
    });
  });
}

/** Compiling takes seconds, and on a busy machine many. */
const ENOUGH_MS = 180_000;

/** A project inside the package, so that its files find it by its name, with the tsconfig of docs/installation.md. */
let project: string;
beforeAll(() => {
  mkdirSync(join(ROOT, 'build'), { recursive: true });
  project = mkdtempSync(join(ROOT, 'build', 'types-'));
  const [, tsconfig] = /```json\n(\{\s*"compilerOptions"[\s\S]*?)```/.exec(
    readFileSync(join(ROOT, 'docs', 'installation.md'), 'utf8'),
  )!;
  writeFileSync(join(project, 'tsconfig.json'), tsconfig!);
  const files = {
    unused: '// @ts-expect-error Nothing is wrong here.\nexport const fine: number = 1;\n',
    apart: APART,
    ...Object.fromEntries(Object.entries(MISSPELT).map(([name, inferFunc]) => [name, bound(inferFunc)])),
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(project, `${name}.ts`), text);
});
afterAll(() => rmSync(project, { recursive: true, force: true }));

describe.each(COMPILERS)('the types that users see, with %s', (compiler) => {
  it('accept good code and refuse bad code', { timeout: ENOUGH_MS }, async () => {
    expect(await compile(compiler, TYPES)).toBe('');
  });

  it('take Float16Array where the compiler has one', { timeout: ENOUGH_MS }, async () => {
    expect(await compile(compiler, join(TYPES, 'float16'))).toBe('');
  });

  describe('and the options that people start with', () => {
    let messages: readonly Message[];
    beforeAll(async () => {
      messages = messagesOf(await compile(compiler, project));
    }, ENOUGH_MS);
    const linesOf = (name: string) => messages.filter(({ file }) => file === `${name}.ts`).map(({ lines }) => lines);

    it('would be reported when bad code compiled', () => {
      expect(linesOf('unused')).toEqual([["error TS2578: Unused '@ts-expect-error' directive."]]);
    });

    it('need no annotation for callables that are written apart', () => {
      expect(linesOf('apart')).toEqual([]);
    });

    it.each(Object.keys(MISSPELT))('name a misspelt output and the known ones in three lines: %s', (name) => {
      const [lines, ...more] = linesOf(name);
      expect(more).toEqual([]);
      const beginning = lines!.slice(0, 3).join('\n');
      for (const output of ['sbu', 'add', 'sub']) expect(beginning).toMatch(new RegExp(`\\b${output}\\b`));
    });

    it('say of most callables what is missing', () => {
      const wanted = `{ readonly add: OutputLike<"float32"> | undefined; readonly sub: OutputLike<"float32"> | undefined; }`;
      expect(linesOf('batch')).toEqual([
        [
          `error TS2322: Type '{ add: Tensor<"float32">; sbu: Tensor<"float32">; }' is not assignable to type 'Awaitable<OutputsNamed<"add" | "sub", ${wanted}, readonly (OutputLike<keyof DataOf> | undefined)[]>>'.`,
          `  Property 'sub' is missing in type '{ add: Tensor<"float32">; sbu: Tensor<"float32">; }' but required in type '${wanted}'.`,
        ],
      ]);
    });
  });
});

const APART = `
import { batch, defineModel, Triton, type InferenceRequest, type InferFunc } from 'tstriton';
const FLOATS = { dtype: 'float32', shape: [-1] } as const;
const addSub = defineModel({
  modelName: 'AddSub',
  inputs: { a: FLOATS, b: { ...FLOATS, optional: true } },
  outputs: { add: FLOATS, sub: FLOATS },
});
const names = batch(({ a, b }) => ({ add: a.map((v, i) => v + b.data[i]), sub: a.map((v, i) => v - b.data[i]) }));
const positions = batch(([a, b]) => [a.map((v, i) => v + b.data[i]), a.map((v, i) => v - b.data[i])]);
const requests = (requests: InferenceRequest[]) => requests.map(({ inputs: { a, b } }) => ({ add: a, sub: b }));
const typed: InferFunc = (requests) => requests.map(({ inputs }) => ({ add: inputs.a, sub: inputs.b }));
const triton = new Triton();
triton.bind({ ...addSub, inferFunc: [names, requests, typed] });
triton.bind({ modelName: 'List', inputs: [FLOATS, FLOATS], outputs: [FLOATS, FLOATS], inferFunc: positions });
`;

/** Callables of every form, each of which calls its output \`sub\` \`sbu\`. */
const MISSPELT = {
  batch: 'batch(({ a, b }) => ({ add: a, sbu: b }))',
  block: 'batch(({ a, b }) => { const outputs = { add: a, sbu: b }; return outputs; })',
  asynchronous: 'batch(async ({ a, b }) => ({ add: a, sbu: b }))',
  decorated: "groupByKeys(batch(groupByValues(['a'], padBatch(({ a, b }) => ({ add: a, sbu: b })))))",
  sample: 'sample(({ a, b }) => ({ add: a, sbu: b }))',
  raw: '(requests) => requests.map(({ inputs: { a, b } }) => ({ add: a, sbu: b }))',
  'raw-asynchronous': 'async (requests) => requests.map(({ inputs: { a, b } }) => ({ add: a, sbu: b }))',
  object:
    'new (class { infer(requests: InferenceRequest[]) { return requests.map(({ inputs: { a, b } }) => ({ add: a!, sbu: b! })); } })()',
  'object-asynchronous':
    'new (class { async infer(requests: InferenceRequest[]) { return requests.map(({ inputs: { a, b } }) => ({ add: a!, sbu: b! })); } })()',
  'object-list':
    '[new (class { infer(requests: InferenceRequest[]) { return requests.map(({ inputs: { a, b } }) => ({ add: a!, sbu: b! })); } })()]',
  'object-of-tensors':
    'new (class { infer({ a, b }: { a: Tensor<"float32">; b: Tensor<"float32"> }) { return { add: a, sbu: b }; } })()',
  method:
    "{ object: new (class { classify(requests: InferenceRequest[]) { return requests.map(({ inputs: { a, b } }) => ({ add: a!, sbu: b! })); } })(), method: 'classify' }",
  list: '[batch(({ a, b }) => ({ add: a, sbu: b }))]',
  generator: 'batch(function* ({ a, b }) { yield { add: a, sbu: b }; })',
  stream: 'stream(async function* ({ a, b }) { yield { add: a, sbu: b }; })',
};

function bound(inferFunc: string): string {
  const config = inferFunc.includes('function*') ? 'config: { decoupled: true },' : '';
  return `import { batch, defineModel, groupByKeys, groupByValues, type InferenceRequest, padBatch, sample, stream, type Tensor, Triton } from 'tstriton';
const FLOATS = { dtype: 'float32', shape: [-1] } as const;
const addSub = defineModel({ modelName: 'AddSub', inputs: { a: FLOATS, b: FLOATS }, outputs: { add: FLOATS, sub: FLOATS }, ${config} });
export const used = [batch, groupByKeys, groupByValues, padBatch, sample, stream];
new Triton().bind({ ...addSub, inferFunc: ${inferFunc} });
`;
}

interface Message {
  readonly file: string;
  readonly lines: string[];
}

/** The messages of a compiler, line by line, without their places. */
function messagesOf(output: string): readonly Message[] {
  const messages: Message[] = [];
  for (const line of output.split('\n')) {
    const [, path, text] = /^(\S+)\(\d+,\d+\): (.*)$/.exec(line) ?? [];
    if (path !== undefined) messages.push({ file: path.split('/').at(-1)!, lines: [text!] });
    else if (line !== '') messages.at(-1)?.lines.push(line);
  }
  return messages;
}
