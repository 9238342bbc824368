// `tstriton serve`, as a process of the package that is published.
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';

import { ModelClient } from 'tstriton/client';

import { OPTIONS } from '../../../src/config/options.js';
import { externalTensor, identityModel, node, onnxModel, tensorValue } from '../../support/onnx-builder.js';
import { packedPackage, type PackedPackage } from '../../support/packed-package.js';
import { inferJson } from '../../support/start-server.js';
import { openStream } from '../../support/open-stream.js';

const FREE = ['--http-port', '0', '--grpc-port=0', '--metrics-port', '0'];
const HAS_CURL = spawnSync('curl', ['--version']).status === 0;

const model = (factor: number | string) => `
import { batch, defineModel } from 'tstriton';
import { factor } from './lib/factor.ts';
export const scale = defineModel({
  modelName: 'Scale',
  inputs: { x: { dtype: 'int32', shape: [-1] } },
  outputs: { y: { dtype: 'int32', shape: [-1] } },
});
const own: number = ${factor};
export default { ...scale, inferFunc: batch(({ x }) => ({ y: x.map((value: number) => value * own * factor) })) };
`;
const FACTOR = 'export const factor: number = 1;\n';

const KINDS = `
import { stream } from 'tstriton';
const echo = (requests) => requests;
const tensors = (...specs) => specs.map(([name, dtype, shape]) => ({ name, dtype, shape }));
export const models = [
  ['Plain', ['x', 'float32', [-1, 2]], ['a b', 'string', [1]]],
  ['Whole', ['x', 'int64', [2, 2]], ['flag', 'bool', [-1]]],
  ['Image', ['pixels', 'uint8', [3, 32, 32]]],
  ['Half', ['x', 'float16', [4]], ['y', 'bfloat16', [1]]],
  ['Texts', ['texts', 'bytes', [200]]],
].map(([modelName, ...specs]) => ({ modelName, inputs: tensors(...specs), outputs: tensors(...specs), inferFunc: echo }));
export const single = { ...models[0], modelName: 'Single', config: { batching: false } };
export const words = {
  modelName: 'Words',
  inputs: { text: { dtype: 'string', shape: [1] } },
  outputs: { word: { dtype: 'string', shape: [1] } },
  config: { decoupled: true },
  inferFunc: stream(function* ({ text }) {
    for (const i of [1, 2, 3]) yield { word: [[text.data[0] + i]] };
  }),
};
`;

let installed: PackedPackage;
beforeAll(async () => {
  installed = await packedPackage();
  installed.write('lib/factor.ts', FACTOR);
  for (const name of ['scale.ts', 'again.ts']) installed.write(name, model(2));
  for (const name of ['bad.onnx', 'BAD.ONNX', 'bad (1).onnx']) installed.write(name, 'no protobuf');
  const twice = "{ modelName: 'Twice', inputs: {}, outputs: {}, inferFunc: () => [] }";
  installed.write('twice.mjs', `export default [${twice}, ${twice}];`);
  installed.write('function.mjs', 'export default () => ({});');
  installed.write('syntax.mjs', 'const a = 1;\nexport default { a: ;\n');
});
afterAll(() => installed[Symbol.dispose]());

async function ask(http: string, name: string, value: number): Promise<unknown> {
  const answer = await inferJson(http, name, [{ name: 'x', datatype: 'INT32', shape: [1, 1], data: [value] }]);
  return answer.outputs?.[0]?.data[0] ?? answer.error;
}

describe('tstriton serve', () => {
  it('serves a module in TypeScript, tells where, and ends with 0 after SIGTERM', async () => {
    await using server = installed.start(['serve', 'scale.ts', '--json', ...FREE]);
    const { http, grpc, metrics, models } = await server.served();
    expect(models).toEqual([{ name: 'Scale', version: 1, ready: true }]);
    expect(await ask(http, 'Scale', 21)).toBe(42);
    await using client = new ModelClient(grpc, 'Scale');
    expect((await client.inferSample({ x: [4] }))['y']!.toNested()).toEqual([8]);
    expect(await (await fetch(metrics)).text()).toContain('nv_inference_count{model="Scale",version="1"} 2');
    await server.until(/HTTP +http:/);
    expect(server.stderr).toContain(`gRPC    ${grpc}`);
    server.signal('SIGTERM');
    const { code, stdout } = await server.ended;
    expect(code).toBe(0);
    expect(stdout.split('\n')).toHaveLength(2);
  });

  it.runIf(HAS_CURL)('prints a curl line and a snippet for each model that work as they are', async () => {
    installed.write('kinds.mjs', KINDS);
    await using server = installed.start(['serve', 'kinds.mjs', '--json', ...FREE]);
    const { models } = await server.served();
    await server.until(/Ctrl-C/);
    const told = server.stderr;
    for (const { name } of models) {
      const [, section] = new RegExp(`^${name} version 1\\n([\\s\\S]*?)(?=\\n\\S)`, 'm').exec(told)!;
      const lines = section!.split('\n').map((line) => line.slice(2));
      const end = lines.indexOf('');
      const [curl, snippet] = [lines.slice(0, end).join('\n'), lines.slice(end).join('\n')];
      const cwd = installed.folder;
      const asked = spawnSync('bash', ['-c', curl.replace('curl -s', 'curl -sf')], { cwd, encoding: 'utf8' });
      expect([name, asked.status, asked.stderr]).toEqual([name, 0, '']);
      const answer = curl.includes('answer.bin') ? readFileSync(join(cwd, 'answer.bin'), 'latin1') : asked.stdout;
      expect(answer).toContain(`"model_name":"${name}"`);
      writeFileSync(join(cwd, 'snippet.mjs'), snippet);
      const ran = spawnSync(process.execPath, ['snippet.mjs'], { cwd, encoding: 'utf8' });
      expect([name, ran.status, ran.stderr]).toEqual([name, 0, '']);
      expect(ran.stdout.match(/Tensor/g)?.length).toBeGreaterThan(0);
    }
    expect(models).toHaveLength(7);
  });

  it('serves ONNX files under a name and in as many threads as are asked for', async () => {
    installed.write('one.onnx', identityModel('int32', ['batch', 1]));
    await using server = installed.start(['serve', 'one.onnx', '--name', 'Echo', '--instances=2', '--max-batch-size', '16', '--json', ...FREE]); // prettier-ignore
    const { http, models } = await server.served();
    expect(models).toMatchObject([{ name: 'Echo' }]);
    const config = (await (await fetch(`${http}/v2/models/Echo/config`)).json()) as Record<string, unknown>;
    expect(config).toMatchObject({ max_batch_size: 16, instance_group: [{ count: 2 }] });
    expect(await ask(http, 'Echo', 5)).toBe(5);
  });

  it('serves a module of an instance in threads, beside another file', async () => {
    const declaration = (name: string) =>
      `export const model = { modelName: '${name}', inputs: { x: { dtype: 'int32', shape: [1] } }, outputs: { y: { dtype: 'int32', shape: [1] } } };`;
    const callable = 'export default (requests) => requests.map(({ inputs }) => ({ y: inputs.x }));';
    installed.write('threaded.mjs', `${declaration('Threaded')}\n${callable}`);
    installed.write('common.cjs', `${declaration('Common').replace('export const', 'const')}\nmodule.exports = { ...model, inferFunc: (requests) => requests };`); // prettier-ignore
    await using server = installed.start(['serve', 'threaded.mjs', '--instances', '2', '--json', ...FREE]);
    const { http } = await server.served();
    expect(await ask(http, 'Threaded', 3)).toBe(3);
    const config = (await (await fetch(`${http}/v2/models/Threaded/config`)).json()) as Record<string, unknown>;
    expect(config).toMatchObject({ instance_group: [{ count: 2 }] });
    await using both = installed.start(['serve', 'threaded.mjs', 'common.cjs', '--json', ...FREE]);
    expect((await both.served()).models.map(({ name }) => name)).toEqual(['Threaded', 'Common']);
  });

  it('serves what was compiled to CommonJS, in its own thread and in others', async () => {
    installed.write('compiled.cjs', `
Object.defineProperty(exports, '__esModule', { value: true });
const x = { dtype: 'int32', shape: [1] };
exports.model = { modelName: 'Compiled', inputs: { x }, outputs: { x } };
exports.default = (requests) => requests;`); // prettier-ignore
    for (const threads of [[], ['--instances', '2']]) {
      await using server = installed.start(['serve', 'compiled.cjs', ...threads, '--json', ...FREE]);
      expect(await ask((await server.served()).http, 'Compiled', 3)).toBe(3);
    }
  });

  it('serves TypeScript that leaves the ending of an imported file out', async () => {
    installed.write('short.ts', model(3).replace('factor.ts', 'factor'));
    await using server = installed.start(['serve', 'short.ts', '--json', ...FREE]);
    expect(await ask((await server.served()).http, 'Scale', 7)).toBe(21);
  });

  it('takes flags first, then the environment, then the file', async () => {
    installed.write('conf/tstriton.config.ts', 'export default { id: "file" as string, logInfo: false, httpAddress: "127.0.0.1", models: ["../scale.ts"] };'); // prettier-ignore
    await using server = installed.start(
      ['serve', '-c', 'conf/tstriton.config.ts', '--json', '--id', 'flag', ...FREE],
      {
        env: { TSTRITON_CONFIG_ID: 'environment', TSTRITON_CONFIG_HTTP_PORT: '1', TSTRITON_CONFIG_METRICS_CONFIG: '' },
      },
    );
    const { http } = await server.served();
    expect(http).toContain('http://127.0.0.1:');
    expect(await (await fetch(`${http}/v2`)).json()).toMatchObject({ name: 'flag' });
    expect(server.stderr).not.toContain('Started HTTPService');
  });

  it('says which model does not serve, where others may', async () => {
    const broken = "export default { modelName: 'Broken', inputs: {}, outputs: {}, inferFunc: () => [], setup() { throw new Error('no memory'); } };"; // prettier-ignore
    installed.write('broken.mjs', broken);
    const refused = await installed.run(['serve', 'broken.mjs', 'scale.ts', ...FREE]);
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringContaining("tstriton: setup of model 'Broken' failed: no memory\n"),
    ]);
    await using server = installed.start([
      'serve',
      'broken.mjs',
      'scale.ts',
      '--json',
      '--exit-on-error=false',
      ...FREE,
    ]);
    expect((await server.served()).models).toEqual([
      { name: 'Broken', version: 1, ready: false, failure: "setup of model 'Broken' failed: no memory" },
      { name: 'Scale', version: 1, ready: true },
    ]);
  });

  // Where the server has the option.
  it.runIf('modelRepository' in OPTIONS)('serves the models of folders, and tells how they are asked', async () => {
    const tensors = 'input [ { name: "x" data_type: TYPE_INT32 dims: [ -1 ] } ] output [ { name: "y" data_type: TYPE_INT32 dims: [ -1 ] } ]'; // prettier-ignore
    installed.write('models/Folder/config.pbtxt', `backend: "tstriton" max_batch_size: 8 ${tensors}`);
    installed.write(
      'models/Folder/1/model.js',
      'export default (requests) => requests.map(({ inputs }) => ({ y: inputs.x }));',
    );
    installed.write('models/Broken/config.pbtxt', 'nonsense');
    const grid = "{ grid: { dtype: 'float32', shape: [2, 2] }, rooms: { dtype: 'int8', shape: [1] } }";
    installed.write(
      'models/Routed/1/model.js',
      `export default { modelName: 'Routed', route: 'POST /rent', inputs: ${grid}, outputs: ${grid}, inferFunc: (requests) => requests };`,
    );
    installed.write(
      'models/Writer/1/model.js',
      `import { chatModel } from 'tstriton'; export default chatModel({ modelName: 'Writer', chat: () => 'so it is' });`,
    );
    const args = ['serve', 'scale.ts', '--model-repository', 'models', '--exit-on-error=false'];
    await using server = installed.start([...args, '--json', ...FREE]);
    const { http, models } = await server.served();
    expect(models).toEqual([
      { name: 'Scale', version: 1, ready: true },
      { name: 'Broken', ready: false, failure: expect.stringContaining('config.pbtxt') as unknown },
      { name: 'Folder', version: 1, ready: true },
      { name: 'Routed', version: 1, ready: true },
      { name: 'Writer', version: 1, ready: true },
    ]);
    await server.until(/Ctrl-C/);
    expect(await ask(http, 'Folder', 7)).toBe(7);
    expect(server.stderr).toContain(`curl -s ${http}/v2/models/Folder/infer`);
    const lineTo = (path: string) => server.stderr.split('\n').find((line) => line.includes(`${http}${path}`))!;
    const rent = lineTo('/rent').trim();
    expect(rent).toBe(`curl -s ${http}/rent -d '{"grid":[[1,2],[3,4]],"rooms":1}'`);
    const body = rent.slice(rent.indexOf("'") + 1, -1);
    const answer = await fetch(`${http}/rent`, { method: 'POST', body });
    expect(await answer.json()).toEqual({ grid: [[1, 2], [3, 4]], rooms: 1 }); // prettier-ignore
    expect(lineTo('/v1/chat/completions')).toContain('{"model":"Writer","messages":');
  });

  it('ends at once, with 130, after a second signal', async () => {
    installed.write('waits.mjs', `
const x = { dtype: 'int32', shape: [1] };
export default { modelName: 'Waits', inputs: { x }, outputs: { x }, inferFunc: () => new Promise(() => console.error('it waits')) };`); // prettier-ignore
    await using server = installed.start(['serve', 'waits.mjs', '--json', ...FREE]);
    const { http } = await server.served();
    const asked = ask(http, 'Waits', 1).catch((error: unknown) => error);
    await server.until(/it waits/);
    server.signal('SIGINT');
    await server.until(/1 in-flight|in flight|waiting/i);
    server.signal('SIGINT');
    expect((await server.ended).code).toBe(130);
    expect(await asked).toBeInstanceOf(Error);
  });

  it.each(['true', 'false'])('ends with 1 after an unrecoverable error, whatever the model has left behind, --server-thread %s', async (thread) => {
    installed.write('lost.mjs', `
import { TritonUnrecoverableError } from 'tstriton';
setInterval(() => undefined, 1000);
const x = { dtype: 'int32', shape: [-1] };
export default { modelName: 'Lost', inputs: { x }, outputs: { x }, inferFunc: () => { throw new TritonUnrecoverableError('the device is gone'); } };`);
    await using server = installed.start(['serve', 'lost.mjs', '--json', '--server-thread', thread, ...FREE]);
    const { http } = await server.served();
    await ask(http, 'Lost', 1).catch(() => undefined);
    const { code, stderr } = await server.ended;
    expect(code).toBe(1);
    expect(stderr).toMatch(/^tstriton: the device is gone$/m);
  }); // prettier-ignore

  it('ends with 0 after SIGTERM when a callable goes on after the exit timeout, or has left a timer behind', async () => {
    installed.write('stays.mjs', `
setInterval(() => undefined, 1000);
const x = { dtype: 'int32', shape: [-1] };
export default { modelName: 'Stays', inputs: { x }, outputs: { x }, inferFunc: () => new Promise(() => console.error('it waits')) };`); // prettier-ignore
    await using server = installed.start(['serve', 'stays.mjs', '--json', '--exit-timeout-secs', '1', ...FREE]);
    const { http } = await server.served();
    const asked = ask(http, 'Stays', 1).catch((error: unknown) => error);
    await server.until(/it waits/);
    server.signal('SIGTERM');
    expect((await server.ended).code).toBe(0);
    expect(await asked).toEqual(expect.anything());
  });

  it('says which model clients are to load', async () => {
    await using server = installed.start(['serve', 'scale.ts', '--json', '--model-control-mode', 'explicit', ...FREE]);
    expect((await server.served()).models).toEqual([
      { name: 'Scale', version: 1, ready: false, failure: 'it is not loaded: clients load it, or --load-model' },
    ]);
    await using loaded = installed.start(['serve', 'scale.ts', '--json', '--model-control-mode=explicit', '--load-model', 'Scale', ...FREE]); // prettier-ignore
    expect((await loaded.served()).models).toEqual([{ name: 'Scale', version: 1, ready: true }]);
  });

  it.each<[string, readonly string[], string]>([
    ['no file', [], 'expected a module or an .onnx file to serve'],
    ['a file that is not there', ['none.ts'], 'there is no file none.ts, expected a module'],
    ['a folder', ['lib'], 'lib is a folder, expected a module (.ts, .mts, .cts, .js, .mjs, .cjs) or an .onnx file; --model-repository serves a folder of models'],
    ['another kind of file', ['package.json'], 'package.json cannot be served, expected'],
    ['a file twice', ['scale.ts', './scale.ts'], 'scale.ts is there twice'],
    ['two files with one model', ['scale.ts', 'again.ts'], "scale.ts and again.ts both have the model 'Scale' version 1, expected another name or version in one of them"],
    ['a file with one model twice', ['twice.mjs'], "twice.mjs has the model 'Twice' version 1 twice, expected another name or version in one of them"],
    ['a module without models', ['lib/factor.ts'], 'lib/factor.ts exports no model, expected what triton.bind takes'],
    ['a name for a module', ['scale.ts', '--name', 'x'], '--name is for ONNX files; scale.ts is a module'],
    ['instances for a module that says them', ['scale.ts', '--instances', '2'], '--instances is for ONNX files and modules whose default export is the callable'],
    ['no instances', ['scale.ts', '--instances', '0'], "option '--instances <count>' argument '0' is invalid. Expected an integer above 0."],
    ['a port that is none', ['scale.ts', '--http-port', '65536'], '--http-port must be an integer from 0 to 65535, got 65536'],
    ['a port in words', ['scale.ts', '--grpc-port', 'http'], '--grpc-port must be an integer, got "http"'],
    ['a boolean that is none', ['scale.ts', '--allow-http', 'maybe'], '--allow-http must be true or false'],
    ['a choice that is none', ['scale.ts', '--model-control-mode', 'auto'], "--model-control-mode must be 'none' or"],
    ['a misspelt flag', ['scale.ts', '--htp-port', '1'], "unknown option '--htp-port' (Did you mean --http-port?)"],
    ['a port of any kind', ['scale.ts', '--port', '1'], "unknown option '--port' (Did you mean --http-port, --grpc-port, --metrics-port"],
    ['a flag that is not served', ['scale.ts', '--http-thread-count', '8'], '--http-thread-count is not supported by TSTriton: '],
    ['the same with =', ['scale.ts', '--rate-limit=off'], '--rate-limit is not supported by TSTriton: '],
    ['flags that do not go together', ['scale.ts', '--allow-http=false', '--allow-grpc=false'], 'the HTTP or the gRPC endpoint has to be allowed'],
    ['a certificate that is missing', ['scale.ts', '--http-use-ssl'], 'httpUseSsl needs'],
    ['a configuration file that is not there', ['scale.ts', '-c', 'none.json'], 'there is no configuration file none.json'],
    ['a configuration file that exports a function', ['-c', 'function.mjs'], 'function.mjs must be an object, got function'],
    ['an ONNX file that is none', ['bad.onnx'], '/'],
    ['one whose name is in capitals', ['BAD.ONNX'], '/'],
    ['one whose name is no model\'s', ['bad (1).onnx'], 'Model name can only contain alphanumeric characters, dots, underscores and dashes, got "bad (1)"; --name gives the model another name than its file\'s'],
  ])('says in one line what is wrong with %s, and ends with 2', async (_, args, message) => {
    const { code, stdout, stderr } = await installed.run(['serve', ...args]);
    expect(stderr).toContain(`tstriton: ${message}`);
    expect([code, stdout, stderr.match(/\n/g)?.length]).toEqual([2, '', 1]);
  }); // prettier-ignore

  it('refuses variables that are wrong by their names', async () => {
    const { code, stderr } = await installed.run(['serve', 'scale.ts'], { env: { TSTRITON_CONFIG_HTTP_PORT: 'x' } });
    expect([code, stderr]).toEqual([2, 'tstriton: TSTRITON_CONFIG_HTTP_PORT must be an integer, got "x"\n']);
  });

  it.each([
    ['syntax.ts', 'const a: number = 1;\nexport default { a: ;\n', /syntax\.ts:2/],
    ['syntax.mjs', 'const a = 1;\nexport default { a: ;\n', /syntax\.mjs:2/],
    ['imports.mjs', "import './syntax.mjs';\n", /syntax\.mjs:2/],
    ['names.mjs', "import { nothing } from 'tstriton';\nexport default nothing;", /names\.mjs:1[\s\S]*nothing/],
    ['null.mjs', 'throw null;', /it threw null/],
    [
      'binds.mjs',
      'export async function bindAll() { throw new Error("no weights"); }',
      /Error: no weights\n +at .*binds\.mjs:1/,
    ],
    ['throws.mjs', '\nthrow new Error("no weights");', /Error: no weights\n +at .*throws\.mjs:2/],
  ])('has the diagnostics of %s, which does not load', async (name, text, diagnostics) => {
    installed.write(name, text);
    const { code, stdout, stderr } = await installed.run(['serve', name]);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(new RegExp(`^tstriton: ${name} does not load\n`));
    expect(stderr).toMatch(diagnostics);
    expect(stderr).not.toContain('node:internal');
  });

  it('fails with 1 where a module awaits what never settles', async () => {
    installed.write('never.mjs', 'await new Promise(() => undefined);');
    const { code, stdout, stderr } = await installed.run(['serve', 'never.mjs']);
    expect([code, stdout, stderr]).toEqual([1, '', 'tstriton: nothing is left to wait for: a module awaits a promise that never settles\n']); // prettier-ignore
  });

  it('fails with 1 where the port is taken', async () => {
    await using first = installed.start(['serve', 'scale.ts', '--json', ...FREE]);
    const port = new URL((await first.served()).http).port;
    const { code, stderr } = await installed.run(['serve', 'scale.ts', '--grpc-port=0', '--metrics-port=0', '--http-port', port]); // prettier-ignore
    expect(code).toBe(1);
    expect(stderr).toMatch(new RegExp(`^tstriton: .*${port}.*$`, 'm'));
  });

  it('has a help with the options of the server in groups, and examples', async () => {
    const { code, stdout, stderr } = await installed.run(['serve', '--help']);
    expect([code, stderr]).toEqual([0, '']);
    for (const part of [
      'Usage: tstriton serve',
      'HTTP:',
      '--http-port <number>',
      'gRPC:',
      'Examples:',
      'tstriton.config.ts',
    ])
      expect(stdout).toContain(part);
    expect(stdout).not.toContain('--rate-limit');
  });
});

describe.each([{ thread: 'true' }, { thread: 'false' }])(
  'tstriton serve --watch, --server-thread $thread',
  ({ thread }) => {
    it('serves new versions at the same port without dropping a request, and puts up with broken ones', async () => {
      const folder = `watch-${thread}`;
      const at = (name: string) => `${folder}/${name}`;
      installed.write(at('lib/factor.ts'), FACTOR);
      installed.write(at('model.ts'), model(1));
      await using server = installed.start([
        'serve',
        at('model.ts'),
        '--watch',
        '--json',
        '--server-thread',
        thread,
        ...FREE,
      ]);
      const { http, grpc } = await server.served();
      await server.until(/watching/);
      const stop = new AbortController();
      const seen = new Set<unknown>();
      const load = async (url: string) => {
        await using client = new ModelClient(url, 'Scale', { retry: false });
        while (!stop.signal.aborted) {
          const { y } = await client.inferSample({ x: [1] });
          seen.add(y!.data[0]);
        }
      };
      const loads = Promise.all([http, http, grpc, grpc].map(load));
      const sees = (value: number) => vi.waitFor(() => expect([...seen]).toContain(value));
      await sees(1);
      const reloads = () => server.stderr.match(/^reloaded Scale/gm)?.length ?? 0;
      let before = reloads();
      const reloaded = async () => {
        before++;
        await server.until(new RegExp(`(?:reloaded Scale[^]*?){${before}}`));
      };

      installed.write(at('model.ts'), model(2));
      await reloaded();
      await sees(2);
      // What it imports, put in place as editors do it.
      installed.write(at('lib/factor.ts'), 'export const factor: number = 10;\n');
      await reloaded();
      expect(await ask(http, 'Scale', 1)).toBe(20);

      installed.write(at('model.ts'), model(';'));
      await server.until(/model\.ts: the version before goes on\n[\s\S]*model\.ts\S*:9/);
      expect(await ask(http, 'Scale', 1)).toBe(20);
      installed.write(at('model.ts'), model(3).replace('shape: [-1] } },\n});', 'shape: [-2] } },\n});'));
      await server.until(/shape/);
      installed.write(at('model.ts'), `${model(3)}\nexport const more = { ...scale, modelName: 'More', inferFunc: (requests) => requests };`); // prettier-ignore
      await reloaded();
      await server.until(/serves More/);
      await sees(30);
      expect(await ask(http, 'More', 9)).toBe(9);
      installed.write(at('model.ts'), model(4));
      await reloaded();
      await server.until(/serves no more More/);
      expect(await ask(http, 'Scale', 1)).toBe(40);

      stop.abort();
      await loads;
      expect([...seen].filter((value) => ![1, 2, 20, 30, 40].includes(value as number))).toEqual([]);
      server.signal('SIGINT');
      expect((await server.ended).code).toBe(0);
    });

    it('serves an ONNX model anew when a file with its weights has changed', async () => {
      const folder = `weights-${thread}`;
      const write = (values: Int32Array) =>
        installed.write(`${folder}/w.data`, Buffer.from(values.buffer, values.byteOffset, values.byteLength));
      installed.write(
        `${folder}/add.onnx`,
        onnxModel({
          nodes: [node('Add', ['x', 'w'], ['y'])],
          inputs: [tensorValue('x', 'int32', ['batch', 1])],
          outputs: [tensorValue('y', 'int32', ['batch', 1])],
          initializers: [externalTensor('w', 'int32', [1], 'w.data')],
        }),
      );
      write(Int32Array.of(10));
      const flags = ['--watch', '--json', '--server-thread', thread];
      await using server = installed.start(['serve', `${folder}/add.onnx`, ...flags, ...FREE]);
      const { http } = await server.served();
      await server.until(/watching/);
      expect(await ask(http, 'add', 1)).toBe(11);
      write(Int32Array.of(20));
      await server.until(/reloaded add/);
      expect(await ask(http, 'add', 1)).toBe(21);
    });

    it('serves every new version although a client listens to a stream of the first', async () => {
      const file = `ticks-${thread}/model.js`;
      const ticks = (value: number) => `import { stream } from 'tstriton';
export const ticks = {
  modelName: 'Ticks',
  inputs: { x: { dtype: 'float32', shape: [1] } },
  outputs: { y: { dtype: 'float32', shape: [1] } },
  config: { decoupled: true },
  inferFunc: stream(async function* () {
    for (;;) {
      yield { y: [[${value}]] };
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }),
};
`;
      installed.write(file, ticks(1));
      await using server = installed.start(['serve', file, '--watch', '--json', '--server-thread', thread, ...FREE]);
      const { http } = await server.served();
      await server.until(/watching/);
      const listening = [await openStream(http, 'Ticks')];
      for (const value of [2, 3]) {
        installed.write(file, ticks(value));
        await server.until(new RegExp(`(?:reloaded Ticks[^]*?){${value - 1}}`));
        listening.push(await openStream(http, 'Ticks'));
      }
      expect(await Promise.all(listening.map((client) => client.next()))).toEqual([1, 2, 3]);
      for (const client of listening) await client[Symbol.asyncDispose]();
      server.signal('SIGINT');
      expect((await server.ended).code).toBe(0);
    });

    it('serves the next version of a module, and other modules, although an import or a setup never ends', async () => {
      const folder = `endless-${thread}`;
      const files = ['One', 'Two'].map((name) => `${folder}/${name}/model.js`);
      const write = (index: number, value: number, before = '') =>
        installed.write(files[index]!, `${before}\n${constant(['One', 'Two'][index]!, value)}`);
      write(0, 1);
      write(1, 1);
      const flags = ['--watch', '--json', '--server-thread', thread];
      await using server = installed.start(['serve', ...files, ...flags, ...FREE]);
      const { http } = await server.served();
      await server.until(/watching/);
      write(0, 2, "console.error('endless'); await new Promise((resolve) => setTimeout(resolve, 1e8));");
      await server.until(/endless/);
      write(1, 3);
      await expect.poll(() => ask(http, 'Two', 0)).toBe(3);
      write(0, 4);
      await expect.poll(() => ask(http, 'One', 0)).toBe(4);
      const setsUp = async (value: number) => {
        const setup = `setup: () => (console.error('sets up ${value}'), new Promise(() => undefined)),`;
        installed.write(files[0]!, constant('One', value).replace('inferFunc', `${setup} inferFunc`));
        await server.until(new RegExp(`sets up ${value}`));
      };
      await setsUp(5);
      write(0, 6);
      await expect.poll(() => ask(http, 'One', 0)).toBe(6);
      await setsUp(7);
      server.signal('SIGTERM');
      const { code, stderr } = await server.ended;
      expect(code).toBe(0);
      // What a stop ends has not failed.
      expect(stderr).not.toContain('the version before goes on');
    });

    it('serves the next version of a module whose first setup never ends', async () => {
      const file = `first-${thread}/model.js`;
      const setup = `setup: () => (console.error('sets up'), new Promise(() => undefined)),`;
      installed.write(file, constant('One', 1).replace('inferFunc', `${setup} inferFunc`));
      await using server = installed.start(['serve', file, '--watch', '--json', '--server-thread', thread, ...FREE]);
      await server.until(/sets up/);
      installed.write(file, constant('One', 2));
      const { http } = await server.served();
      expect(await ask(http, 'One', 0)).toBe(2);
      server.signal('SIGTERM');
      expect((await server.ended).code).toBe(0);
    });
  },
);

/** A module whose model always answers the same. */
function constant(name: string, value: number): string {
  return `export const model = {
  modelName: '${name}',
  inputs: { x: { dtype: 'int32', shape: [1] } },
  outputs: { y: { dtype: 'int32', shape: [1] } },
  inferFunc: (requests) => requests.map(() => ({ y: [[${value}]] })),
};
`;
}
