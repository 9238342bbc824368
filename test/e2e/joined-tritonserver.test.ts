// Models that a tritonserver serves which runs already, played by a server of this process.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { batch, defineModel, RemoteTriton, type Tensor, type TritonserverOptions } from 'tstriton';

import type { FakeModel } from '../support/fake-model-py.js';
import { PlayedTritonserver } from '../support/played-tritonserver.js';
import { freePort } from '../support/ports.js';
import { SILENT } from '../support/remote.js';
import { emptyFolder } from '../support/temporary-files.js';
import { watchedProcess } from '../support/watched-process.js';

const signature = defineModel({
  modelName: 'Times',
  inputs: { x: { dtype: 'int32', shape: [1] } },
  outputs: { y: { dtype: 'int32', shape: [1] } },
});

const times = (factor: number, modelVersion = 1) => ({
  ...signature,
  modelVersion,
  inferFunc: batch(({ x }: { readonly x: Tensor<'int32'> }) => ({ y: x.map((value) => factor * value) })),
});

function joined(server: PlayedTritonserver, instanceAddress: string, more: Partial<TritonserverOptions> = {}) {
  return new RemoteTriton(server.url, { engine: 'tritonserver', instanceAddress, logger: SILENT, ...more });
}

async function ask(instance: FakeModel, values: readonly number[]): Promise<readonly number[]> {
  instance.sendBatch(1, values);
  const { tensors } = await instance.next();
  const view = new DataView(tensors.buffer, tensors.byteOffset, tensors.byteLength);
  return values.map((_, i) => view.getInt32(8 * i, true));
}

describe('a model in a tritonserver that runs already', () => {
  it.each(['a Unix socket', 'a port'])('is loaded with all it needs, and answers through %s', async (place) => {
    await using server = await new PlayedTritonserver().start();
    const socket = join(emptyFolder('tstriton-joined-'), 'app.sock');
    const address = place === 'a port' ? `127.0.0.1:${await freePort()}` : socket;
    const triton = joined(server, address);
    triton.bind(times(2)).bind(times(3, 2));
    await triton.connect();
    expect(triton.isReady).toBe(true);
    const { instances, files } = server.models.get('Times')!;
    expect(Object.keys(files)).toEqual(['1/model.py', '1/tstriton.json', '2/model.py', '2/tstriton.json']);
    const [first, second] = await Promise.all([ask(instances[0]!, [1, 2]), ask(instances[1]!, [3])]);
    expect([first, second]).toEqual([[2, 4], [9]]);
    await triton.stop();
    expect(server.models.size).toBe(0);
    expect(existsSync(socket)).toBe(false);
  });

  it('is loaded again when an instance, or all of tritonserver, was killed', async () => {
    await using server = await new PlayedTritonserver().start();
    await using triton = joined(server, join(emptyFolder('tstriton-joined-'), 'app.sock'));
    await triton.bind(times(2)).connect();
    server.models.get('Times')!.instances[0]!.end();
    await expect.poll(() => server.loads.length).toBe(2);
    await server.kill();
    await expect.poll(() => triton.isReady).toBe(false);
    await server.start();
    await expect.poll(() => triton.isReady).toBe(true);
    expect(await ask(server.models.get('Times')!.instances[0]!, [21])).toEqual([42]);
  });

  it('stays unloaded when a client has unloaded it, until tritonserver was restarted', async () => {
    await using server = await new PlayedTritonserver().start();
    const log: string[] = [];
    const note = (text: string) => void log.push(text);
    const logger = { ...SILENT, info: note, error: note };
    await using triton = joined(server, join(emptyFolder('tstriton-joined-'), 'app.sock'), { logger });
    await triton
      .bind(times(2))
      .bind({ ...times(5), modelName: 'Other' })
      .connect();
    server.unload('Times');
    await expect.poll(() => triton.isReady).toBe(false);
    server.models.get('Other')!.instances[0]!.end();
    // By then it has been looked at.
    await expect.poll(() => log).toContain("model 'Other' is loaded again");
    expect(server.models.has('Times')).toBe(false);
    await server.kill();
    // A real one needs seconds to start.
    await expect.poll(() => log).toContainEqual(expect.stringContaining('is gone; looking for it'));
    await server.start();
    await expect.poll(() => triton.isReady).toBe(true);
  });

  it('is loaded again when tritonserver takes it, and until then after each look', async () => {
    await using server = await new PlayedTritonserver().start();
    const log: string[] = [];
    const logger = { ...SILENT, error: (text: string) => void log.push(text) };
    await using triton = joined(server, join(emptyFolder('tstriton-joined-'), 'app.sock'), { logger });
    await triton.bind(times(2)).connect();
    server.refusal = 'no room';
    const before = server.asked.length;
    server.models.get('Times')!.instances[0]!.end();
    await expect.poll(() => log).toContain("model 'Times' is not loaded again: no room");
    await expect.poll(() => server.asked.slice(before).length).toBeGreaterThan(3);
    const [look, load] = ['/v2/health/live', '/v2/repository/models/Times/load'];
    expect(server.asked.slice(before, before + 4)).toEqual([look, load, look, load]);
    server.refusal = undefined;
    await expect.poll(() => triton.isReady).toBe(true);
    expect(await ask(server.models.get('Times')!.instances[0]!, [21])).toEqual([42]);
  });

  it('is loaded again when a load was never answered, though tritonserver answers all else', async () => {
    await using server = await new PlayedTritonserver().start();
    const log: string[] = [];
    const logger = { ...SILENT, error: (text: string) => void log.push(text) };
    await using triton = joined(server, join(emptyFolder('tstriton-joined-'), 'app.sock'), { logger });
    await triton.bind(times(2)).connect();
    server.unansweredLoads = 1;
    server.models.get('Times')!.instances[0]!.end();
    await expect.poll(() => server.unansweredLoads).toBe(0);
    await expect.poll(() => server.loads.length, { timeout: 40_000 }).toBe(2);
    await expect.poll(() => triton.isReady).toBe(true);
    expect(log).toContainEqual(
      expect.stringMatching(/^model 'Times' is not loaded again: deadline of 20000 ms exceeded/),
    );
    expect(await ask(server.models.get('Times')!.instances[0]!, [21])).toEqual([42]);
  });

  it('is loaded again although the load of another model never ends', async () => {
    await using server = await new PlayedTritonserver().start();
    await using triton = joined(server, join(emptyFolder('tstriton-joined-'), 'app.sock'));
    const names = ['Endless', 'Second', 'Third'];
    for (const modelName of names) triton.bind({ ...times(2), modelName });
    await triton.connect();
    server.endless = 'Endless';
    server.models.get('Endless')!.instances[0]!.end();
    await expect.poll(() => server.asked.filter((path) => path.endsWith('/Endless/load')).length).toBe(2);
    for (const name of names.slice(1)) {
      server.models.get(name)!.instances[0]!.end();
      await expect.poll(() => server.loads.filter((load) => load === name).length, { timeout: 10_000 }).toBe(2);
    }
    await server.kill();
    await server.start();
    await expect.poll(() => server.loads.filter((load) => load === 'Third').length, { timeout: 10_000 }).toBe(3);
  });

  it('keeps its process from no stop while its load never ends', async () => {
    await using server = await new PlayedTritonserver().start();
    server.endless = 'Times';
    const address = join(emptyFolder('tstriton-joined-'), 'app.sock');
    const triton = joined(server, address, { exitTimeoutSecs: 3600 });
    const connected = triton.bind(times(2)).connect();
    connected.catch(() => undefined);
    await expect.poll(() => server.asked).toContain('/v2/repository/models/Times/load');
    await triton.stop();
    await expect(connected).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    expect(server.asked.at(-1)).toBe('/v2/repository/models/Times/unload');
  });

  it('has each failure said once, however many models fail in turn', async () => {
    await using server = await new PlayedTritonserver().start();
    const log: string[] = [];
    const logger = { ...SILENT, error: (text: string) => void log.push(text) };
    await using triton = joined(server, join(emptyFolder('tstriton-joined-'), 'app.sock'), { logger });
    for (const modelName of ['First', 'Second']) triton.bind({ ...times(2), modelName });
    await triton.connect();
    server.refusal = 'no room';
    for (const { instances } of server.models.values()) instances[0]!.end();
    await expect.poll(() => server.asked.filter((path) => path.endsWith('/Second/load')).length).toBeGreaterThan(3);
    const failures = log.filter((text) => text.includes('is not loaded again'));
    expect(failures.toSorted()).toEqual(
      ['First', 'Second'].map((name) => `model '${name}' is not loaded again: no room`),
    );
  });

  it('loses its instances and loads within a while when all of tritonserver is silent, and is loaded again', async () => {
    await using server = await new PlayedTritonserver().start();
    const log: string[] = [];
    const logger = { ...SILENT, error: (text: string) => void log.push(text) };
    await using triton = joined(server, join(emptyFolder('tstriton-joined-'), 'app.sock'), { logger });
    await triton.bind(times(2)).connect();
    const [instance] = server.models.get('Times')!.instances;
    expect(await ask(instance!, [21])).toEqual([42]);
    server.unansweredLoads = 1;
    const second = joined(server, join(emptyFolder('tstriton-joined-'), 'app.sock'));
    const refused = second
      .bind({ ...times(3), modelName: 'Second' })
      .connect()
      .catch(String);
    await expect.poll(() => server.unansweredLoads).toBe(0);
    server.isSilent = true;
    await instance!.closed;
    expect(await refused).toBe(`TritonError: the tritonserver at ${server.url} is silent`);
    await expect.poll(() => triton.isReady).toBe(false);
    await expect.poll(() => log).toContainEqual(expect.stringContaining('is gone; looking for it'));
    server.isSilent = false;
    await expect.poll(() => triton.isReady).toBe(true);
    expect(await ask(server.models.get('Times')!.instances[0]!, [21])).toEqual([42]);
  });

  it('is refused where another model has the name, and replaces one that its process has left', async () => {
    await using server = await new PlayedTritonserver().start();
    const folder = emptyFolder('tstriton-joined-');
    await using first = joined(server, join(folder, 'first.sock'));
    await first.bind(times(2)).connect();
    const second = joined(server, join(folder, 'second.sock'));
    await expect(second.bind(times(3)).connect()).rejects.toMatchObject({
      code: 'ALREADY_EXISTS',
      message: `model 'Times' is loaded already in the tritonserver at ${server.url}, and not by this process`,
    });
    expect(existsSync(join(folder, 'second.sock'))).toBe(false);
    expect(first.isReady).toBe(true);

    const child = watchedProcess([
      new URL('../fixtures/joined-binder.js', import.meta.url).pathname,
      server.url,
      join(folder, 'third.sock'),
    ]);
    await child.wrote('connected');
    child.kill('SIGKILL');
    await child.ended;
    expect(existsSync(join(folder, 'third.sock'))).toBe(true);
    await using third = joined(server, join(folder, 'third.sock'));
    await third.bind({ ...times(7), modelName: 'Left' }).connect();
    expect(await ask(server.models.get('Left')!.instances[0]!, [6])).toEqual([42]);
  });

  it('is not bound, with one error and nothing left, where tritonserver refuses it', async () => {
    await using server = await new PlayedTritonserver().start();
    const address = join(emptyFolder('tstriton-joined-'), 'app.sock');
    server.refusal = 'explicit model load / unload is not allowed if polling is enabled';
    await expect(joined(server, address).bind(times(2)).connect()).rejects.toMatchObject({
      code: 'UNSUPPORTED',
      message: `the tritonserver at ${server.url} takes no models: it needs --model-control-mode=explicit`,
    });
    server.refusal = "load failed for model 'Times'";
    await expect(joined(server, address).bind(times(2)).connect()).rejects.toMatchObject({
      message: "load failed for model 'Times'",
    });
    expect(existsSync(address)).toBe(false);
  });

  it('is not bound where its setup fails, or another process listens at the address', async () => {
    await using server = await new PlayedTritonserver().start();
    const address = join(emptyFolder('tstriton-joined-'), 'app.sock');
    const setup = () => Promise.reject(new Error('no weights'));
    await expect(
      joined(server, address)
        .bind({ ...times(2), setup })
        .connect(),
    ).rejects.toMatchObject({
      message: expect.stringContaining('no weights') as string,
    });
    await using first = joined(server, address);
    await first.bind(times(2)).connect();
    await expect(
      joined(server, address)
        .bind({ ...times(2), modelName: 'Second' })
        .connect(),
    ).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringContaining(`cannot listen at ${address}`) as string,
    });
    expect(first.isReady).toBe(true);
  });
});

describe('a tritonserver that is not there', () => {
  it('is an error where the instances cannot have their socket, and takes no file for one', async () => {
    await using server = await new PlayedTritonserver().start();
    const folder = emptyFolder('tstriton-joined-');
    const file = join(folder, 'weights');
    writeFileSync(file, 'precious');
    for (const [address, reason] of [
      [file, 'EADDRINUSE'],
      [join(folder, 'none', 'app.sock'), `there is no folder ${join(folder, 'none')}`],
    ] as const) {
      await expect(joined(server, address).bind(times(2)).connect()).rejects.toMatchObject({
        code: 'UNAVAILABLE',
        message: expect.stringMatching(new RegExp(`^cannot listen at ${address}: .*${reason}`)),
      });
    }
    expect(readFileSync(file, 'utf8')).toBe('precious');
    expect(server.loads).toEqual([]);
  });

  it('is the error of the last attempt that had time for one', async () => {
    let asked = 0;
    const other = createServer((_, response) => void (asked++ === 0 && response.writeHead(400).end()));
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const { port } = other.address() as AddressInfo;
    const triton = new RemoteTriton(`http://127.0.0.1:${port}`, {
      engine: 'tritonserver',
      instanceAddress: join(emptyFolder('tstriton-joined-'), 'app.sock'),
      timeoutMs: 3000,
      logger: SILENT,
    });
    await expect(triton.connect()).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: `http://127.0.0.1:${port} is not live`,
    });
    expect(asked).toBe(2);
    await new Promise((resolve) => other.close(resolve));
  });

  it('is an error within the deadline, and leaves no socket file', async () => {
    const address = join(emptyFolder('tstriton-joined-'), 'app.sock');
    await using server = await new PlayedTritonserver().start();
    server.isSilent = true;
    await expect(joined(server, address, { timeoutMs: 300 }).connect()).rejects.toMatchObject({
      code: 'DEADLINE_EXCEEDED',
      message: expect.stringMatching(/^deadline of \d+ ms exceeded for ServerLive at/),
    });
    await server.kill();
    await expect(joined(server, address, { timeoutMs: 300 }).connect()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    expect(existsSync(address)).toBe(false);
  });
});

describe('options of RemoteTriton', () => {
  it.each<[string, object, string]>([
    ['no address', { engine: 'tritonserver' }, 'instanceAddress of RemoteTriton must be'],
    [
      'a relative path',
      { engine: 'tritonserver', instanceAddress: 'app.sock' },
      'instanceAddress of RemoteTriton must',
    ],
    [
      'a port too high',
      { engine: 'tritonserver', instanceAddress: 'app:70000' },
      'instanceAddress of RemoteTriton must',
    ],
    ['a path too long', { engine: 'tritonserver', instanceAddress: `/${'a'.repeat(107)}` }, 'of at most 107 bytes'],
    ['a token', { engine: 'tritonserver', instanceAddress: '/a', accessToken: 'x' }, "unknown option 'accessToken'"],
    ['another engine', { engine: 'vllm', accessToken: 'x' }, 'engine of RemoteTriton must be tstriton or tritonserver'],
  ])('are refused with %s', (_, options, message) => {
    expect(() => new RemoteTriton('grpc://localhost', options as never)).toThrow(message);
  });
});
