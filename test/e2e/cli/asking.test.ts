// `tstriton infer` and `tstriton bench`, as processes of the package that is published.
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';

import { batch, stream, type Triton } from 'tstriton';

import { packedPackage, type PackedPackage } from '../../support/packed-package.js';
import { selfSignedCertificate } from '../../support/self-signed-certificate.js';
import { gate, startServer, type RunningServer } from '../../support/start-server.js';

let more = gate();
/** Of sequences that are over: how many requests they had, and the reason. */
const lengths: (readonly [number, string])[] = [];

function bindModels(triton: Triton): void {
  triton.bind({
    modelName: 'Double',
    inputs: { x: { dtype: 'int64', shape: [-1] }, scale: { dtype: 'float32', shape: [1], optional: true } },
    outputs: { y: { dtype: 'int64', shape: [-1] } },
    inferFunc: batch(({ x }) => ({ y: x.map((value) => 2n * value) })),
  });
  triton.bind({
    modelName: 'Image',
    inputs: { pixels: { dtype: 'uint8', shape: [2, 3] }, name: { dtype: 'bytes', shape: [1] } },
    outputs: { pixels: { dtype: 'uint8', shape: [2, 3] }, name: { dtype: 'bytes', shape: [1] } },
    config: { batching: false },
    inferFunc: (requests) => requests.map(({ inputs }) => ({ ...inputs })),
  });
  triton.bind({
    modelName: 'Total',
    inputs: { x: { dtype: 'int32', shape: [1] } },
    outputs: { requests: { dtype: 'int32', shape: [1] } },
    config: {
      maxBatchSize: 8,
      sequenceBatching: {
        state: () => ({ requests: 0 }),
        onEnd: ({ requests }, reason) => lengths.push([requests, reason]),
      },
    },
    inferFunc: (requests) =>
      requests.map(({ sequence }) => ({ requests: [[++(sequence!.state as { requests: number }).requests]] })),
  });
  triton.bind({
    modelName: 'Words',
    inputs: { text: { dtype: 'string', shape: [1] } },
    outputs: { word: { dtype: 'string', shape: [1] } },
    config: { decoupled: true },
    inferFunc: stream(async function* ({ text }, { requests }) {
      for (const i of [1, 2, 3]) {
        yield { word: [[`${text.data[0]}${i}`]] };
        if (i === 1 && requests[0]?.parameters?.['wait'] === true) await more.opened;
      }
    }),
  });
  triton.bind({
    modelName: 'Endless',
    inputs: { text: { dtype: 'string', shape: [1] } },
    outputs: { word: { dtype: 'string', shape: [1] } },
    config: { decoupled: true },
    inferFunc: stream(async function* ({ text }) {
      for (;;) {
        yield { word: [[text.data[0]!]] };
        await new Promise(setImmediate);
      }
    }),
  });
  triton.bind({
    modelName: 'Refuses',
    inputs: { x: { dtype: 'int32', shape: [1] } },
    outputs: { y: { dtype: 'int32', shape: [1] } },
    inferFunc: () => {
      throw new Error('no weights');
    },
  });
}

let installed: PackedPackage;
let server: RunningServer;
beforeAll(async () => {
  installed = await packedPackage();
  installed.write('authority.pem', selfSignedCertificate().cert);
  server = await startServer(bindModels);
});
afterAll(async () => {
  installed[Symbol.dispose]();
  await server[Symbol.asyncDispose]();
});

const infer = (...args: readonly string[]) => installed.run(['infer', ...args]);

describe.each(['http', 'grpc'] as const)('tstriton infer over %s', (wire) => {
  const url = () => server[wire];

  it('prints JSON alone where a program reads it, with exact integers', async () => {
    const asked = await infer(url(), 'Double', '-i', 'x=[9007199254740993, 4]');
    expect(asked).toMatchObject({ code: 0, stdout: '{"y":[18014398509481986,8]}\n', stderr: '' });
  });

  it('takes inputs from standard input, the command and files, by name and in the form of the protocol', async () => {
    const protocol = '{"inputs":[{"name":"x","datatype":"INT64","shape":[2,1],"data":[1,2]}]}';
    installed.write('data.json', protocol);
    const answers = await Promise.all([
      installed.run(['infer', url(), 'Double'], { input: '{"x": [1, 2]}' }),
      infer(url(), 'Double', '--data', '{"x": [[1], [2]]}', '--batch'),
      infer(url(), 'Double', '--data', '@data.json'),
      installed.run(['infer', url(), 'Double', '-d', '-'], { input: protocol }),
    ]);
    expect(answers.map(({ stdout, stderr }) => stdout + stderr)).toEqual([
      '{"y":[2,4]}\n',
      '{"y":[[2],[4]]}\n',
      '{"y":[[2],[4]]}\n',
      '{"y":[[2],[4]]}\n',
    ]);
  });

  it('takes raw files and gives raw bytes', async () => {
    installed.write('pixels.bin', Uint8Array.of(1, 2, 3, 4, 5, 6));
    installed.write('name.bin', Uint8Array.of(255, 0, 10));
    const inputs = ['-i', 'pixels=@pixels.bin', '-i', 'name=@name.bin'];
    const pixels = await infer(url(), 'Image', ...inputs, '--outputs', 'pixels');
    expect(pixels.stdout).toBe('{"pixels":[[1,2,3],[4,5,6]]}\n');
    const raw = await infer(url(), 'Image', ...inputs, '--outputs', 'pixels', '-f', 'raw');
    expect(Buffer.from(raw.stdout)).toEqual(Buffer.from([1, 2, 3, 4, 5, 6]));
    const none = await infer(url(), 'Image', ...inputs);
    expect([none.code, none.stdout, none.stderr]).toEqual([
      2,
      '',
      expect.stringContaining("'name' has bytes that are no text"),
    ]);
  });

  it('prints answers as they come', async () => {
    more = gate();
    await using asked = installed.start(['infer', url(), 'Words', '-i', 'text=a', '-p', 'wait=true']);
    await asked.until(/"a1"/, 'stdout');
    expect(asked.stdout).toBe('{"word":["a1"]}\n');
    more.open();
    expect(await asked.ended).toMatchObject({ code: 0, stdout: '{"word":["a1"]}\n{"word":["a2"]}\n{"word":["a3"]}\n' });
  });

  it('ends with 130 on Ctrl-C', async () => {
    await using asked = installed.start(['infer', url(), 'Endless', '-i', 'text=a']);
    await asked.until(/"a"/, 'stdout');
    asked.signal('SIGINT');
    const { code, stderr } = await asked.ended;
    expect([code, stderr]).toEqual([130, 'tstriton: interrupted\n']);
  });

  it.each<[string, readonly string[], number, string]>([
    ['a model that is not there', ['None', '-i', 'x=1'], 1, "Request for unknown model: 'None' is not found"],
    ['a version that is not there', ['Refuses', '-i', 'x=1', '--model-version', '7'], 1, "Request for unknown model: 'Refuses' version 7 is not found\n"],
    ['a callable that fails', ['Refuses', '-i', 'x=[1]'], 1, 'no weights'],
  ])('says in one line what is wrong with %s', async (_, args, code, message) => {
    const asked = await infer(url(), ...args);
    expect(asked.stderr).toContain(message);
    expect([asked.code, asked.stdout, asked.stderr.match(/\n/g)?.length]).toEqual([code, '', 1]);
  }); // prettier-ignore
});

describe('tstriton infer', () => {
  it('is laid out for a person, in colours where they are asked for', async () => {
    const { stdout } = await infer(server.http, 'Double', '-i', 'x=[1]', '--format', 'pretty');
    expect(stdout).toBe('y  INT64 [1]\n  [2]\n');
    const coloured = await installed.run(['infer', server.http, 'Double', '-i', 'x=[1]', '-f', 'pretty'], { env: { FORCE_COLOR: '1' } }); // prettier-ignore
    expect(coloured.stdout).toContain('\x1b[1my\x1b[22m');
  });

  it.each<[string, readonly string[], string]>([
    ['an input that is none', ['Double', '-i', 'y=1'], "the model has no input 'y'; it has x, scale"],
    ['an output that is none', ['Double', '-i', 'x=1', '--outputs', 'x'], "the model has no output 'x'; it has y"],
    ['no inputs', ['Double'], 'expected the inputs by --input or --data, or on standard input; see tstriton infer --help'],
    ['an authority without TLS', ['Double', '-i', 'x=1', '--ca', 'authority.pem'], '--ca needs https:// or grpcs://, got http://'],
    ['a file without an authority', ['Double', '-i', 'x=1', '--ca', 'package.json'], 'It has no certificate in PEM form.'],
    ['a time that is too long', ['Double', '-i', 'x=1', '--timeout', '1e9'], 'Expected a number of seconds above 0, and at most 1000000.'],
    ['an input that is missing', ['Double', '-i', 'scale=1'], "'x'"],
    ['a value that does not fit', ['Double', '-i', 'x=[1.5]'], '1.5'],
    ['a batch without the flag', ['Double', '-i', 'x=[[1]]'], 'got [1,1]. With --batch, values have the batch axis in front.'],
    ['a file that is not there', ['Double', '-i', 'x=@none.npy'], '--input x: ENOENT'],
    ['data that are no JSON', ['Double', '-d', '{'], '--data is no JSON: '],
    ['an input that comes twice', ['Double', '-i', 'x=1', '-i', 'x=2'], "input 'x' is given twice, expected once"],
    ['a parameter that comes twice', ['Double', '-i', 'x=1', '-p', 'a=1', '-p', 'a=2'], "parameter 'a' is given twice, expected once"],
    ['a header that comes twice', ['Double', '-i', 'x=1', '-H', 'a:1', '-H', 'A:2'], 'The header is given twice, expected once.'],
    ['a format that is none', ['Double', '-f', 'xml'], "argument 'xml' is invalid. Allowed choices are pretty, json, raw."],
    ['no model', [], "missing required argument 'model'"],
  ])('says in one line what is wrong with %s, and ends with 2', async (_, args, message) => {
    const asked = await infer(server.http, ...args);
    expect(asked.stderr).toContain(message);
    expect([asked.code, asked.stdout, asked.stderr.match(/\n/g)?.length]).toEqual([2, '', 1]);
  }); // prettier-ignore

  it('refuses a token that cannot be sent by the name of its variable', async () => {
    const env = { TSTRITON_ACCESS_TOKEN: 'of a file\n' };
    const { code, stderr } = await installed.run(['infer', server.grpc, 'Double', '-i', 'x=1'], { env });
    const reason = 'TSTRITON_ACCESS_TOKEN has characters that headers cannot have, such as the end of a line';
    expect([code, stderr]).toEqual([2, `tstriton: ${reason}\n`]);
  });

  it('refuses JSON over gRPC by the name of its flag', async () => {
    const { code, stderr } = await infer(server.grpc, 'Double', '-i', 'x=1', '--no-binary');
    expect([code, stderr]).toEqual([2, 'tstriton: --no-binary is for http:// and https://; gRPC carries tensors in binary form\n']); // prettier-ignore
  });

  it('ends when nobody reads any more', async () => {
    const script = `"${process.execPath}" "${installed.command}" infer ${server.grpc} Endless -i text=a | head -n 2`;
    const { stdout, stderr } = await promisify(execFile)('bash', ['-c', `set -o pipefail; ${script}`]);
    expect([stdout, stderr]).toEqual(['{"word":["a"]}\n{"word":["a"]}\n', '']);
  });

  it('fails with 1 where nobody listens', async () => {
    const { code, stdout, stderr } = await infer('http://127.0.0.1:2', 'Double', '-i', 'x=1');
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain('connection refused');
  });
});

describe.each(['http', 'grpc'] as const)('tstriton bench over %s', (wire) => {
  const bench = (...args: readonly string[]) => installed.run(['bench', server[wire], ...args]);
  const FEW = ['--warmup', '0.01', '-n', '40', '-c', '4'];

  it('tells throughput, percentiles and a histogram', async () => {
    const { code, stdout, stderr } = await bench('Double', ...FEW);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/requests +\d+ in \d+\.\d s, .*\/s/);
    expect(stdout).toMatch(/latency +mean .* p50 .* p99 .* max /);
    expect(stdout).toMatch(/█ +\d+\.\d %/);
  });

  it('prints them as JSON, of batches and of streams', async () => {
    const figures = async (...args: readonly string[]) =>
      JSON.parse((await bench(...args, ...FEW, '--json')).stdout) as Record<string, Record<string, number>>;
    const rows = await figures('Double', '--rows', '4');
    expect(rows).toMatchObject({ model: 'Double', rows: 4, failed: 0, failures: {} });
    expect(rows['requests']).toBeGreaterThanOrEqual(40);
    expect(rows['latencyMs']!['p99']).toBeGreaterThanOrEqual(rows['latencyMs']!['p50']!);
    const words = await figures('Words', '-i', 'text=a');
    expect(Number(words['answers'])).toBe(3 * Number(words['requests']));
    expect(words).toHaveProperty('firstAnswerMs.p50');
  });

  it('has sequences of a length under way, and ends them all', async () => {
    lengths.length = 0;
    const args = ['--sequences', '4', '--sequence-length', '7', '--warmup', '0.01', '-n', '90'];
    const { code, stdout, stderr } = await bench('Total', ...args);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toContain('4 sequences of 7 requests at a time');
    expect(new Set(lengths.map(([, reason]) => reason))).toEqual(new Set(['ended']));
    expect(lengths.filter(([length]) => length === 7).length).toBeGreaterThanOrEqual(9);
    expect(lengths.filter(([length]) => length !== 7).length).toBeLessThanOrEqual(4);
    expect(JSON.parse((await bench('Total', ...args, '--json')).stdout)).toMatchObject({
      concurrency: 4,
      sequenceLength: 7,
      failed: 0,
    });
  });

  it('fails with 1 where requests fail, and says why', async () => {
    const { code, stdout, stderr } = await bench('Refuses', ...FEW);
    expect(code).toBe(1);
    expect(stdout).toMatch(/failed +\d+\n.*× .*no weights/);
    expect(stderr).toMatch(/^tstriton: (\d+) of \1 requests failed\n$/);
  });

  it('tells on Ctrl-C what it has, and ends with 130', async () => {
    const before = async () => (await (await fetch(server.metrics)).text()).match(/nv_inference_request_success\{model="Double".*\} (\d+)/)![1]; // prettier-ignore
    const start = Number(await before());
    await using running = installed.start(['bench', server[wire], 'Double', '-t', '600', '--warmup', '0.01', '--json']);
    await vi.waitFor(async () => expect(Number(await before())).toBeGreaterThan(start + 200));
    running.signal('SIGINT');
    const { code, stdout } = await running.ended;
    expect(code).toBe(130);
    expect(JSON.parse(stdout)).toMatchObject({ model: 'Double', failed: 0 });
  });
});

describe('tstriton bench', () => {
  it.each([
    [
      ['Words', '--sequences', '2'],
      "--sequences is for models that answer each request once, and 'Words' is decoupled",
    ],
    [['Total', '--sequences', '2', '-c', '3'], '--sequences'],
    [['Total', '--sequences', '2', '--rows', '3'], '--sequences'],
    [['Total', '--sequence-length', '3'], '--sequence-length is of sequences: give --sequences too'],
  ])('refuses sequences that cannot be: %j', async (args, message) => {
    const { code, stderr } = await installed.run(['bench', server.http, ...args]);
    expect(code).toBe(2);
    expect(stderr).toContain(message);
  });

  it.each([
    ['Image', '2', "--rows is for models that batch, and 'Image' does not"],
    ['Double', '1000000000', "--rows must be at most 4 for model 'Double', got 1000000000"],
  ])('refuses rows that model %s does not take', async (model, rows, message) => {
    const { code, stderr } = await installed.run(['bench', server.http, model, '--rows', rows]);
    expect([code, stderr]).toEqual([2, `tstriton: ${message}\n`]);
  });
});

describe('the commands', () => {
  it('load nothing of the server for those who import the client', () => {
    const entry = readFileSync(join(installed.folder, 'node_modules/tstriton/dist/index.js'), 'utf8');
    expect(entry).not.toContain('cli/');
  });
});
