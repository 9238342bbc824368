// Modules of instance groups in TypeScript: by Node itself where it can, with tsx where the program runs under it, else
// with jiti or tsx where one is installed, and what is said where none is.
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

import { defineModel, instanceGroup, type Triton } from 'tstriton';

import { inferJson, startServer } from '../support/start-server.js';
import { WAIT_MILLISECONDS } from '../support/waiting.js';

/** From Node 22.18 on. */
const LOADS_TYPESCRIPT = Boolean((process.features as { readonly typescript?: unknown }).typescript);

const PLAIN = new URL('../fixtures/typed-instance.ts', import.meta.url);
const WITH_ENUM = new URL('../fixtures/enum-instance.ts', import.meta.url);
const IMPORTING = new URL('../fixtures/importing-instance.ts', import.meta.url);

/** Options of Node's for a thread to which these packages are not installed. */
function hiding(...packages: readonly string[]): readonly string[] {
  return hidingImports(
    packages,
    packages.map((name) => `/node_modules/${name.split('/')[0]}/`),
  );
}

/** Of imports by name, and by paths with such a folder. */
function hidingImports(packages: readonly string[], folders: readonly string[]): readonly string[] {
  const hook = `export function resolve(name, context, next) {
    const isHidden = ${JSON.stringify(packages)}.includes(name) || ${JSON.stringify(folders)}.some((folder) => name.includes(folder));
    if (isHidden) throw new Error('not installed');
    return next(name, context);
  }`;
  const dataUrl = (code: string) => `data:text/javascript,${encodeURIComponent(code)}`;
  const register = `import { register } from 'node:module'; register(${JSON.stringify(dataUrl(hook))});`;
  // Newer versions of Node warn of `register`, older ones have nothing else.
  return ['--disable-warning=DEP0205', '--import', dataUrl(register)];
}

const typed = defineModel({
  modelName: 'Typed',
  inputs: { x: { dtype: 'int32', shape: [1] } },
  outputs: { y: { dtype: 'string', shape: [1] }, thread: { dtype: 'int32', shape: [1] } },
});
const enumerated = defineModel({
  modelName: 'Enum',
  inputs: { x: { dtype: 'int32', shape: [1] } },
  outputs: { y: { dtype: 'int32', shape: [1] } },
});

function bindTyped(triton: Triton, options: Parameters<typeof instanceGroup>[1] = {}): void {
  triton.bind({ ...typed, inferFunc: instanceGroup(PLAIN, { args: ['typed'], ...options }) });
}

function bindEnum(triton: Triton, execArgv: readonly string[] = [], module: URL = WITH_ENUM): void {
  triton.bind({ ...enumerated, inferFunc: instanceGroup(module, { execArgv }) });
}

async function ask(http: string, name: string, value: number) {
  const answer = await inferJson(http, name, [{ name: 'x', datatype: 'INT32', shape: [1, 1], data: [value] }]);
  return { ...answer, y: answer.outputs?.[0]?.data[0] };
}

describe.each([{ serverThread: true }, { serverThread: false }])('a module in TypeScript with %o', (config) => {
  it('is loaded, with jiti where Node does not read it', async () => {
    await using server = await startServer((triton) => bindTyped(triton), config);
    expect(await ask(server.http, 'Typed', 0)).toMatchObject({ status: 200, y: '{"args":"typed"}' });
    expect(await ask(server.http, 'Typed', 2)).toMatchObject({ status: 400, error: 'thrown in TypeScript' });
  });

  it('is loaded with tsx where jiti is not installed', async () => {
    await using server = await startServer((triton) => {
      bindTyped(triton, { execArgv: hiding('jiti') });
      bindEnum(triton, hiding('jiti'));
    }, config);
    expect(await ask(server.http, 'Typed', 0)).toMatchObject({ status: 200, y: '{"args":"typed"}' });
    expect(await ask(server.http, 'Enum', 1)).toMatchObject({ status: 200, y: 2 });
  });
});

describe('a module in TypeScript', () => {
  it('is found under the name that it will have as JavaScript', async () => {
    const compiled = new URL('../fixtures/enum-instance.js?v=1', import.meta.url);
    await using server = await startServer((triton) => bindEnum(triton, [], compiled));
    expect(await ask(server.http, 'Enum', 1)).toMatchObject({ status: 200, y: 2 });
  });

  it.each(['jiti', 'tsx/esm/api'])('may import TypeScript as JavaScript where only %s is hidden', async (hidden) => {
    await using server = await startServer((triton) => bindEnum(triton, hiding(hidden), IMPORTING));
    expect(await ask(server.http, 'Enum', 2)).toMatchObject({ status: 200, y: 42 });
  });

  it.runIf(LOADS_TYPESCRIPT)('that imports it so is refused with the ways out where nothing helps', async () => {
    await using server = await startServer(() => undefined);
    bindEnum(server.triton, hiding('jiti', 'tsx/esm/api'), IMPORTING);
    await expect(server.triton.ready()).rejects.toThrow(
      'there is no added-constant.js, but added-constant.ts, and Node does not take the one for the other; name added-constant.ts in the import, or install jiti or tsx, or compile the module to JavaScript',
    );
  });

  it.runIf(LOADS_TYPESCRIPT)('needs neither of them where Node strips types', async () => {
    await using server = await startServer((triton) => bindTyped(triton, { execArgv: hiding('jiti', 'tsx/esm/api') }));
    expect(await ask(server.http, 'Typed', 0)).toMatchObject({ status: 200, y: '{"args":"typed"}' });
  });

  it('that Node does not load is a failed load that names both ways out', async () => {
    await using server = await startServer(() => undefined);
    bindEnum(server.triton, hiding('jiti', 'tsx/esm/api'));
    const syntax = LOADS_TYPESCRIPT ? ': TypeScript enum is not supported in strip-only mode' : '';
    await expect(server.triton.ready()).rejects.toThrow(
      `this version of Node does not load enum-instance.ts${syntax}; install jiti or tsx, or compile the module to JavaScript`,
    );
  });

  it.each(['none.ts', 'none.js'])('that is not there is a failed load that says so: %s', async (name) => {
    await using server = await startServer(() => undefined);
    bindEnum(server.triton, [], new URL(`../fixtures/${name}`, import.meta.url));
    await expect(server.triton.ready()).rejects.toThrow(/cannot load the module .*none\.[jt]s: Cannot find module/);
  });
});

describe('a program that runs under tsx', () => {
  const command = createRequire(import.meta.url).resolve('tsx/cli');
  it.each([
    ['by its command', [command]],
    ['by --import', ['--import', 'tsx']],
  ])('serves modules in TypeScript from threads: %s', (_, options) => {
    const program = fileURLToPath(new URL('../fixtures/tsx-program.ts', import.meta.url));
    const flags = hidingImports(['jiti', 'tsx/esm/api'], []);
    const { stdout, stderr } = spawnSync(process.execPath, [...options, program, ...flags], {
      encoding: 'utf8',
      cwd: fileURLToPath(new URL('../..', import.meta.url)),
      timeout: WAIT_MILLISECONDS,
    });
    expect(`${stdout}${stderr}`).toBe('42\n');
  });
});
