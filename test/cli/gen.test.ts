// The command `tstriton gen`, as a process of its own: what it writes compiles and infers.
import { create, toBinary } from '@bufbuild/protobuf';
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { stream, type Triton } from 'tstriton';

import { ModelMetadataResponseSchema } from '../support/generated/grpc_service_pb.js';
import { answerGrpc, failGrpc, startGrpc, startHttp } from '../support/fake-servers.js';
import { addModel } from '../support/onnx-builder.js';
import { selfSignedCertificate } from '../support/self-signed-certificate.js';
import { startServer, type RunningServer } from '../support/start-server.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const MAIN = join(ROOT, 'dist/cli/main.js');
const TSC = join(ROOT, 'node_modules/typescript/bin/tsc');

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function run(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { cwd: ROOT, env: { ...process.env, ...env } });
    let [stdout, stderr] = ['', ''];
    child.stdout.on('data', (chunk) => (stdout += String(chunk)));
    child.stderr.on('data', (chunk) => (stderr += String(chunk)));
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, stdout, stderr }));
  });
}

const gen = (...args: readonly string[]) => run([MAIN, 'gen', ...args]);

function bindModels(triton: Triton): void {
  triton.bind({
    modelName: 'Add-Sub',
    inputs: { 'a 1': { dtype: 'float32', shape: [-1] }, b: { dtype: 'float32', shape: [-1], optional: true } },
    outputs: { add: { dtype: 'float32', shape: [-1] }, label: { dtype: 'string', shape: [1] } },
    config: { maxBatchSize: 8 },
    inferFunc: (requests) =>
      requests.map(({ inputs }) => ({
        add: inputs['a 1'].map((value, i) => value + (inputs.b?.data[i] ?? 0)),
        label: Array.from({ length: inputs['a 1'].rowCount }, () => ['é']),
      })),
  });
  triton.bind({
    modelName: 'Count',
    inputs: [{ dtype: 'int32', shape: [1], name: '0' }],
    outputs: { i: { dtype: 'int64', shape: [1] } },
    config: { decoupled: true, batching: false },
    inferFunc: stream(function* ({ 0: n }) {
      for (let i = 0n; i < Number(n.data[0]); i++) yield { i: [i] };
    }),
  });
}

/** Uses what was generated: misspelt names and wrong methods must not compile. */
const APPLICATION = `
import { connect, connectAddSub, connectCount } from './models.js';
const [url = ''] = process.argv.slice(2);
const addSub = connectAddSub(url);
const count = connectCount(url);
const all = connect(url, { timeoutMs: 5000 });
const [both, counted] = await Promise.all([
  all.models['Add-Sub'].inferSample({ 'a 1': [5], b: [6] }),
  all.models.Count.streamSample([[1]]).next(),
]);
const eleven: Float32Array | undefined = both.add?.data;
const zero: BigInt64Array | undefined = counted.value?.i?.data;
// @ts-expect-error -- there is no such model
void (() => all.models.AddSub);
const { add, label } = await addSub.inferSample({ 'a 1': [1, 2], b: [10, 20] });
const sums: Float32Array | undefined = add?.data;
const text: string | undefined = label?.data[0];
const alone = await addSub.inferBatch({ 'a 1': [[1], [2]] });
const seen: bigint[] = [];
for await (const { i } of count.streamSample([[3]])) if (i !== undefined) seen.push(i.data[0]!);
// @ts-expect-error -- there is no such input
void (() => addSub.inferSample({ a: [1] }));
// @ts-expect-error -- the model is decoupled
void (() => count.inferSample([[3]]));
await Promise.all([addSub.close(), count.close(), all.close()]);
const texts = [...seen, ...(zero ?? [])].map(String);
process.stdout.write(JSON.stringify([[...(sums ?? []), ...(eleven ?? [])], text, alone.add?.toNested(), texts]));
`;
const OPTIONS = {
  target: 'ES2022',
  lib: ['ES2023', 'ESNext.Disposable'],
  module: 'NodeNext',
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  types: ['node'],
  skipLibCheck: true,
};

describe('tstriton gen', () => {
  let server: RunningServer;
  let folder: string;

  beforeAll(async () => {
    server = await startServer(bindModels);
    // Inside the package, so that its own name is found.
    folder = mkdtempSync(join(ROOT, 'test/cli/generated-'));
  });
  afterAll(async () => {
    rmSync(folder, { recursive: true, force: true });
    await server[Symbol.asyncDispose]();
  });

  const compile = (...files: readonly string[]) => {
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: OPTIONS, files }));
    return run([TSC, '-p', folder]);
  };

  it('writes a module that compiles, is typed, and infers', async () => {
    const { code, stdout, stderr } = await gen(server.http, '--model', 'Add-Sub', '-m', 'Count');
    expect([code, stderr]).toEqual([0, '']);
    writeFileSync(join(folder, 'models.ts'), stdout);
    writeFileSync(join(folder, 'application.ts'), APPLICATION);
    expect(await compile('models.ts', 'application.ts')).toEqual({ code: 0, stdout: '', stderr: '' });
    for (const url of [server.http, server.grpc]) {
      const ran = await run([join(folder, 'application.js'), url]);
      expect([ran.code, ran.stderr]).toEqual([0, '']);
      expect(JSON.parse(ran.stdout)).toEqual([[11, 22, 11], 'é', [[1], [2]], ['0', '1', '2', '0']]);
    }
  });

  it('writes the same over gRPC, and each time', async () => {
    const [http, grpc, again] = await Promise.all(
      [server.http, server.grpc, server.http].map((url) => gen(url, '--model', 'Add-Sub', '--strict', '--bytes')),
    );
    expect(http!.code).toBe(0);
    expect(http!.stdout).toContain("label: { dtype: 'bytes', shape: [1] }");
    expect([grpc, again]).toEqual([http, http]);
  });

  it('writes all models of a server that lists them, and asks for names where it may not', async () => {
    await using open = await startServer(bindModels, { restrictedEndpoints: [] });
    for (const url of [open.http, open.grpc]) {
      const { code, stdout } = await gen(url);
      expect(code).toBe(0);
      expect([...stdout.matchAll(/modelName: '(.*)'/g)].map(([, name]) => name)).toEqual(['Add-Sub', 'Count']);
    }
    // Over HTTP a list without the token is enough.
    expect((await gen(server.http)).stdout).toMatch(/modelName: 'Add-Sub'/);
    await using closed = await startServer(bindModels, { restrictedEndpoints: ['model-repository', 'metadata'] });
    for (const url of [closed.http, server.grpc]) {
      const refused = await gen(url);
      expect([refused.code, refused.stdout]).toEqual([1, '']);
      expect(refused.stderr).toMatch(/does not list its models: name them with --model, got: This/);
    }
  });

  it('reads an ONNX file without a server', async () => {
    const file = join(folder, 'add.onnx');
    writeFileSync(file, addModel());
    const { code, stdout, stderr } = await gen(file);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toContain("export const add = defineModel({\n  modelName: 'add',");
    expect(stdout).toContain('config: { maxBatchSize: 4 }');
    writeFileSync(join(folder, 'onnx.ts'), stdout);
    expect(await compile('onnx.ts')).toEqual({ code: 0, stdout: '', stderr: '' });
    expect((await gen(file, '-m', 'Sum', '--model-version', '3')).stdout).toContain(
      "export const sum = defineModel({\n  modelName: 'Sum',\n  modelVersion: 3,",
    );
  });

  it('reads folders of models without a server, as the server describes them', async () => {
    const repository = mkdtempSync(join(folder, 'repository-'));
    mkdirSync(join(repository, 'sum/1'), { recursive: true });
    writeFileSync(join(repository, 'sum/1/model.onnx'), addModel());
    mkdirSync(join(repository, 'my_count/2'), { recursive: true });
    writeFileSync(
      join(repository, 'my_count/2/model.js'),
      `import { stream } from 'tstriton';
      export default {
        inputs: { to: { dtype: 'int32', shape: [1] }, by: { dtype: 'int32', shape: [1], optional: true } },
        outputs: { i: { dtype: 'string', shape: [1] } },
        config: { decoupled: true, batching: false },
        inferFunc: stream(function* () { yield { i: ['0'] }; }),
      };`,
    );
    await using served = await startServer(() => {}, { modelRepository: repository, restrictedEndpoints: [] });
    const { code, stdout, stderr } = await gen(repository);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toBe((await gen(served.http)).stdout);
    expect(stdout).toContain("by: { dtype: 'int32', shape: [1], optional: true }");
    expect(stdout).toContain('config: { batching: false, decoupled: true }');
    const one = await gen(join(repository, 'my_count/'), '--model-version', '2', '--bytes');
    expect(one.stdout).toContain("modelName: 'my_count',\n  modelVersion: 2,");
    expect(one.stdout).toContain("i: { dtype: 'bytes', shape: [1] }");
  });

  it('says what is wrong with files and folders', async () => {
    const empty = mkdtempSync(join(folder, 'empty-'));
    const broken = mkdtempSync(join(folder, 'broken-'));
    mkdirSync(join(broken, 'm/1'), { recursive: true });
    for (const [args, message] of [
      [['nope.onnx'], 'cannot read the ONNX model'],
      [['./models/nope'], 'there is no folder ./models/nope, expected a server, an .onnx file or a folder'],
      [[empty], 'has no models: expected a folder for each'],
      [[broken, '-m', 'n'], "has no model 'n', it has m"],
      [[broken], "model 'm' of"],
      [[broken, '-H', 'a:b'], '--header is for servers'],
    ] as const) {
      const { code, stdout, stderr } = await gen(...args);
      expect([code, stdout, stderr.split('\n').length]).toEqual([2, '', 2]);
      expect(stderr).toContain(message);
    }
  });

  it('reads what the real Triton says of its models, over HTTP', async () => {
    const cases = readFileSync(join(ROOT, 'test/conformance/cases/http/management.jsonl'), 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as { readonly request: { readonly method: string; readonly path: string }; readonly response: { readonly status: number; readonly body: string } }); // prettier-ignore
    const answers = new Map(
      cases.filter(({ request }) => request.method === 'GET').map(({ request, response }) => [request.path, response]),
    );
    await using triton = await startHttp(({ path }, response) => {
      const { status, body } = answers.get(path) ?? { status: 404, body: '{"error":"not recorded"}' };
      response.writeHead(status, { 'content-type': 'application/json' }).end(body);
    });
    const models = [...answers]
      .filter(([path, { status }]) => status === 200 && answers.get(`${path}/config`)?.status === 200)
      .flatMap(([path]) => /^\/v2\/models\/([^/]+)$/.exec(path)?.[1] ?? []);
    expect(models.length).toBeGreaterThan(3);
    const { code, stdout, stderr } = await gen(`http://${triton.authority}`, ...models.flatMap((name) => ['-m', name]));
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout.match(/^export const /gm)).toHaveLength(models.length);
    expect(stdout).not.toContain('tells no configuration');
    writeFileSync(join(folder, 'recorded.ts'), stdout);
    expect(await compile('recorded.ts')).toEqual({ code: 0, stdout: '', stderr: '' });
  });

  it('takes the metadata of a server that has no configuration', async () => {
    await using other = await startHttp(({ path }, response) => {
      const metadata = { name: 'iris', platform: '', inputs: [{ name: 'x', datatype: 'FP64', shape: [-1, 4] }], outputs: [{ name: 'y', datatype: 'INT64', shape: [-1] }] }; // prettier-ignore
      const isMetadata = path === '/v2/models/iris';
      response.writeHead(isMetadata ? 200 : 404, { 'content-type': 'application/json' });
      response.end(JSON.stringify(isMetadata ? metadata : { detail: 'Not Found' }));
    });
    const { code, stdout } = await gen(`http://${other.authority}`, '--model', 'iris');
    expect(code).toBe(0);
    expect(stdout).toContain("x: { dtype: 'float64', shape: [-1, 4] }");
    expect(stdout).toContain('config: { batching: false }');
    const unknown = await gen(`http://${other.authority}`, '--model', 'other');
    expect([unknown.code, unknown.stdout]).toEqual([1, '']);
  });

  it('takes the metadata of a server whose ModelConfig is not implemented, over gRPC', async () => {
    const tensor = { datatype: 'FP64', shape: [-1n, 4n] };
    const metadata = { name: 'iris', inputs: [{ name: 'x', ...tensor }], outputs: [{ name: 'y', ...tensor }] };
    const asked: string[] = [];
    await using other = await startGrpc(({ method, stream: answer }) => {
      asked.push(method);
      if (method !== 'ModelMetadata') failGrpc(answer, 12, 'Method not implemented!');
      else answerGrpc(answer, toBinary(ModelMetadataResponseSchema, create(ModelMetadataResponseSchema, metadata)));
    });
    const { code, stdout, stderr } = await gen(`grpc://${other.authority}`, '--model', 'iris');
    expect([code, stderr]).toEqual([0, '']);
    expect(asked).toEqual(['ModelMetadata', 'ModelConfig']);
    expect(stdout).toContain('// The server tells no configuration');
    expect(stdout).toContain("x: { dtype: 'float64', shape: [-1, 4] }");
    expect(stdout).toContain('config: { batching: false }');
    writeFileSync(join(folder, 'iris.ts'), stdout);
    expect(await compile('iris.ts')).toEqual({ code: 0, stdout: '', stderr: '' });
  });

  it('asks over TLS with the authorities that it is given, and no stranger without them', async () => {
    const { cert, key } = selfSignedCertificate();
    const [certFile, keyFile] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
    writeFileSync(certFile, cert);
    writeFileSync(keyFile, key);
    await using own = await startServer(bindModels, {
      grpcUseSsl: true,
      grpcServerCert: certFile,
      grpcServerKey: keyFile,
      httpUseSsl: true,
      httpServerCert: certFile,
      httpServerKey: keyFile,
    });
    const plain = await gen(server.grpc, '-m', 'Count');
    for (const url of [own.grpc.replace('grpc:', 'grpcs:'), own.http.replace('http:', 'https:')]) {
      expect(await gen(url, '-m', 'Count', '--ca', certFile)).toEqual(plain);
      const wary = await gen(url, '-m', 'Count');
      expect([wary.code, wary.stdout]).toEqual([1, '']);
      expect(wary.stderr).toMatch(/^tstriton: .*self-signed certificate; to trust it, give it to --ca\n$/);
    }
  });

  it('sends headers, and the token of the environment', async () => {
    const restricted = { restrictedEndpoints: ['metadata', 'model-config'], accessToken: 'let me in' } as const;
    await using own = await startServer(bindModels, restricted);
    const refused = await gen(own.http, '--model', 'Count');
    expect([refused.code, refused.stdout]).toEqual([1, '']);
    expect(refused.stderr).toMatch(/^tstriton: .*restricted.*\n$/);
    for (const url of [own.http, own.grpc]) {
      const { code } = await run([MAIN, 'gen', url, '-m', 'Count'], { TSTRITON_ACCESS_TOKEN: 'let me in' });
      expect(code).toBe(0);
    }
    expect((await gen(own.http, '-m', 'Count', '-H', 'triton-access-token: let me in')).code).toBe(0);
  });

  it.each<[string, readonly string[], string]>([
    ['without a command', [], 'expected a command: '],
    ['with an unknown command', ['gne'], "unknown command 'gne' (Did you mean gen?)"],
    ['of a module', ['gen', './models.ts'], './models.ts is a module, expected a server, an .onnx file or a folder: import its declaration'],
    ['without a server', ['gen', '-m', 'a'], "missing required argument 'source'"],
    ['with an unknown option', ['gen', 'localhost', '-m', 'a', '--tiemout', '3'], "unknown option '--tiemout' (Did you mean --timeout?)"],
    ['with too much', ['gen', 'localhost', 'b', '-m', 'a'], "too many arguments for 'gen'. Expected 1 argument but got 2."],
    ['with a version that is none', ['gen', 'localhost', '-m', 'a', '--model-version', '0'], "option '--model-version <number>' argument '0' is invalid. Expected an integer above 0."],
    ['with a wrong URL', ['gen', 'ftp://localhost', '-m', 'a'], 'invalid url "ftp://localhost" of a client: expected one of the schemes http, https, grpc, grpcs, got ftp'],
    ['with a header without a name', ['gen', 'localhost', '-m', 'a', '-H', 'x'], "option '-H, --header <name:value>' argument 'x' is invalid. Expected name:value."],
    ['with a file that is not there', ['gen', 'https://localhost', '-m', 'a', '--ca', '/nope'], "option '--ca <file>' argument '/nope' is invalid. ENOENT"],
  ])('says in one line what is wrong when it is called %s', async (_, args, message) => {
    const { code, stdout, stderr } = await run([MAIN, ...args]);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr.startsWith(`tstriton: ${message}`)).toBe(true);
    expect(stderr.match(/\n/g)).toHaveLength(1);
  }); // prettier-ignore

  it('fails with 1 for what is not there', async () => {
    const unknown = await gen(server.http, '--model', 'Nope');
    expect(unknown).toEqual({
      code: 1,
      stdout: '',
      stderr: "tstriton: Request for unknown model: 'Nope' is not found\n",
    });
    const nobody = await gen('http://127.0.0.1:2', '--model', 'Nope');
    expect(nobody).toMatchObject({ code: 1, stdout: '' });
    expect(nobody.stderr).toContain('connection refused');
  });

  it('prints helps to standard output', async () => {
    for (const args of [['--help'], ['help'], ['gen', '--help'], ['help', 'gen']]) {
      const { code, stdout, stderr } = await run([MAIN, ...args]);
      expect([code, stderr]).toEqual([0, '']);
      expect(stdout).toMatch(/^Usage: tstriton/);
    }
    expect((await run([MAIN, '--version'])).stdout).toMatch(/^\d+\.\d+\.\d+/);
  });
});
