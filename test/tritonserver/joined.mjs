// Joins a tritonserver that runs already, kills both ends in turn, and looks what is left:
//
//   node test/tritonserver/joined.mjs <path of tritonserver>
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import assert from 'node:assert/strict';

import { batch, RemoteTriton, stream } from 'tstriton';
import { ModelClient, ServerClient } from 'tstriton/client';

import { findTritonserver } from '../../dist/tritonserver/find-tritonserver.js';

/** A load that is lost with a killed tritonserver is tried again after 20 seconds. */
const LIMIT_SECS = 90;
const [tritonserverPath = ''] = process.argv.slice(2);
const scratch = mkdtempSync(join(tmpdir(), 'joined-'));
const log = /** @type {string[]} */ ([]);
const write = (/** @type {string} */ message) => void log.push(message);
const logger = { debug: write, info: write, warn: write, error: write };

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  server.close();
  await once(server, 'close');
  return port;
}

/** @param {() => boolean | Promise<boolean>} isSo @param {string} what */
async function until(isSo, what) {
  const end = performance.now() + LIMIT_SECS * 1000;
  while (performance.now() < end) {
    if (await isSo()) return;
    await delay(50);
  }
  assert.fail(`not within ${LIMIT_SECS} s: ${what}`);
}

const [http, grpc] = [await freePort(), await freePort()];
const url = `http://127.0.0.1:${http}`;
mkdirSync(join(scratch, 'models'));
const found = findTritonserver(tritonserverPath, scratch);
const server = new ServerClient(url, { retry: false });

/** The processes of the models. */
const stubs = () =>
  readdirSync('/proc').filter((pid) => {
    try {
      return /^[0-9]+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(`joined-${http}-`);
    } catch {
      return false;
    }
  });

/** @param {string} [mode] */
async function startTritonserver(mode = 'explicit') {
  const child = spawn(
    found.binary,
    [
      ...found.flags,
      `--model-repository=${join(scratch, 'models')}`,
      `--model-control-mode=${mode}`,
      `--http-port=${http}`,
      `--grpc-port=${grpc}`,
      '--allow-metrics=false',
      '--http-address=127.0.0.1',
      '--grpc-address=127.0.0.1',
      '--exit-timeout-secs=5',
      `--backend-config=python,shm-region-prefix-name=joined-${http}-`,
    ],
    {
      env: { ...process.env, ...found.environment },
      stdio: ['ignore', 'ignore', process.env['DEBUG'] ? 'inherit' : 'ignore'],
    },
  );
  const exited = once(child, 'exit');
  await until(() => server.isLive({ timeoutMs: 1000 }).catch(() => false), 'the start of tritonserver');
  return { child, exited };
}

/** @param {RemoteTriton} triton @param {number} factor */
function bindAll(triton, factor) {
  const one = /** @type {const} */ ({ dtype: 'int32', shape: [1] });
  triton.bind({
    modelName: 'Times',
    inferFunc: batch(({ x }) => ({ y: x.map((value) => factor * value) })),
    inputs: { x: one },
    outputs: { y: one },
    config: { modelWarmup: [{ name: 'w', inputs: { x: { dtype: 'int32', shape: [1], zeroData: true } } }] },
  });
  triton.bind({
    modelName: 'Count',
    inferFunc: stream(async function* ({ x }) {
      for (let i = 0; i < (x.data[0] ?? 0); i++) yield { y: [i] };
    }),
    inputs: { x: one },
    outputs: { y: one },
    config: { batching: false, decoupled: true },
  });
  return triton;
}

/** @param {string} instanceAddress @param {string} [address] */
const joined = (instanceAddress, address = url) =>
  new RemoteTriton(address, { engine: 'tritonserver', instanceAddress, logger, exitTimeoutSecs: 5 });

/** @param {number} [x] @param {string} [model] */
async function ask(x = 7, model = 'Times') {
  const client = /** @type {any} */ (new ModelClient(url, model, { retry: false, timeoutMs: 5000 }));
  try {
    return (await client.inferSample({ x: [x] })).y.data[0];
  } finally {
    await client.close();
  }
}

/** @type {{ child: import('node:child_process').ChildProcess, exited: Promise<unknown> } | undefined} */
let running;
try {
  running = await startTritonserver();
  const socket = join(scratch, 'app.sock');

  for (const [address, at] of [
    [url, socket],
    [`grpc://127.0.0.1:${grpc}`, `127.0.0.1:${await freePort()}`],
  ]) {
    const triton = bindAll(joined(String(at), address), 3);
    await triton.connect();
    assert.equal(await ask(), 21);
    const counting = /** @type {any} */ (new ModelClient(`grpc://127.0.0.1:${grpc}`, 'Count'));
    const counted = [];
    for await (const { y } of counting.streamSample({ x: [4] })) counted.push(y.data[0]);
    await counting.close();
    assert.deepEqual(counted, [0, 1, 2, 3]);
    const asked = Promise.all(Array.from({ length: 50 }, (_, x) => ask(x)));
    assert.deepEqual(
      await asked,
      Array.from({ length: 50 }, (_, x) => 3 * x),
    );
    await triton.stop();
    await until(() => stubs().length === 1, 'the end of the instances');
    process.stdout.write(`ok   serves through ${address} and ${at}, and is gone after a stop\n`);
  }
  assert.equal(existsSync(socket), false);

  const triton = bindAll(joined(socket), 5);
  await triton.connect();
  for (const pid of stubs()) if (Number(pid) !== running.child.pid) process.kill(Number(pid), 'SIGKILL');
  await until(async () => (await ask().catch(() => 0)) === 35, 'an answer after the death of the instances');
  process.stdout.write('ok   loads models again whose processes were killed\n');

  running.child.kill('SIGKILL');
  await running.exited;
  await until(() => !triton.isReady, 'the news of the death');
  running = await startTritonserver();
  await until(() => triton.isReady, 'the models in the next tritonserver');
  assert.equal(await ask(), 35);
  process.stdout.write('ok   loads models into the next tritonserver\n');

  await assert.rejects(bindAll(joined(join(scratch, 'other.sock')), 6).connect(), { code: 'ALREADY_EXISTS' });
  assert.equal(await ask(), 35);
  await triton.stop();
  process.stdout.write('ok   refuses a name that another process has bound\n');

  const file = fileURLToPath(new URL('../fixtures/joined-binder.js', import.meta.url));
  const child = spawn(process.execPath, [file, url, socket], { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(child.stdout, 'data');
  child.kill('SIGKILL');
  await once(child, 'exit');
  await assert.rejects(ask(1, 'Left'), { message: /the process that bound the model is gone/ });
  const next = joined(socket).bind({
    modelName: 'Left',
    inferFunc: batch(({ x }) => ({ y: x })),
    inputs: { x: { dtype: 'int32', shape: [1] } },
    outputs: { y: { dtype: 'int32', shape: [1] } },
  });
  await next.connect();
  assert.equal(await ask(8, 'Left'), 8);
  await next.stop();
  process.stdout.write('ok   replaces what a killed process has left\n');

  running.child.kill('SIGTERM');
  await running.exited;
  running = await startTritonserver('none');
  await assert.rejects(bindAll(joined(socket), 2).connect(), {
    code: 'UNSUPPORTED',
    message: /needs --model-control-mode=explicit/,
  });
  assert.equal(existsSync(socket), false);
  process.stdout.write('ok   says that model control is off\nall ok\n');
} catch (error) {
  process.stdout.write(`FAIL ${String(error)}\n${log.slice(-12).join('\n')}\n`);
  process.exitCode = 1;
} finally {
  await server.close();
  running?.child.kill('SIGKILL');
  await running?.exited;
  rmSync(scratch, { recursive: true, force: true });
  // A killed tritonserver leaves it behind.
  for (const name of readdirSync('/dev/shm')) if (name.startsWith(`joined-${http}-`)) rmSync(join('/dev/shm', name));
}
// What failed may still be connected.
process.exit();
