// Kills what can die, and looks what is left:
//
//   node test/tritonserver/lives.mjs <path of tritonserver> [part of a case's name]
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import assert from 'node:assert/strict';

import { batch, Triton } from 'tstriton';
import { ModelClient } from 'tstriton/client';

const [tritonserverPath = '', part = ''] = process.argv.slice(2);

// Other processes make such folders too.
const scratch = (process.env['TMPDIR'] = mkdtempSync(join(tmpdir(), 'lives-')));
process.on('exit', () => rmSync(scratch, { recursive: true, force: true }));

/** @type {string[]} */
const log = [];
/** @param {string} message */
const write = (message) => void log.push(message);
const options = {
  engine: /** @type {const} */ ('tritonserver'),
  tritonserverPath,
  httpPort: 0,
  grpcPort: 0,
  metricsPort: 0,
  httpAddress: '127.0.0.1',
  grpcAddress: '127.0.0.1',
  exitTimeoutSecs: 5,
  logger: { debug: write, info: write, warn: write, error: write },
};
/** @param {number} factor @param {number} [waitMs] */
const times = (factor, waitMs = 0) => ({
  modelName: 'Times',
  inferFunc: batch(async (/** @type {any} */ { x }) => {
    if (waitMs > 0) await delay(waitMs);
    return { y: x.map((/** @type {number} */ value) => factor * value) };
  }),
  inputs: { x: /** @type {const} */ ({ dtype: 'int32', shape: [1] }) },
  outputs: { y: /** @type {const} */ ({ dtype: 'int32', shape: [1] }) },
});

/** @type {{ close(): Promise<void> }[]} */
const clients = [];
/** @param {Triton} triton */
function ask(triton) {
  const client = /** @type {any} */ (
    new ModelClient(`http://127.0.0.1:${triton.httpPort}`, 'Times', { retry: false, timeoutMs: 5000 })
  );
  clients.push(client);
  return async (/** @type {number} */ x) => (await client.inferSample({ x: [x] })).y.data[0];
}

/** The processes whose command has these words. @param {readonly string[]} words */
function processes(...words) {
  return readdirSync('/proc').filter((pid) => {
    if (!/^[0-9]+$/.test(pid) || Number(pid) === process.pid) return false;
    try {
      const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
      return (
        words.every((word) => command.includes(word)) && !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
      );
    } catch {
      return false;
    }
  });
}
/** tritonserver and its stubs that belong to a process. @param {number} pid */
const children = (pid) => processes('triton', `tstriton-${pid}-`);
const folders = () => readdirSync(tmpdir()).filter((name) => /^tstriton-[A-Za-z0-9]{6}$/.test(name));
/** @param {number} pid */
const sharedMemory = (pid) => readdirSync('/dev/shm').filter((name) => name.startsWith(`tstriton-${pid}-`));

/** @param {() => boolean | Promise<boolean>} isSo @param {string} what */
async function until(isSo, what, seconds = 30) {
  for (let i = 0; i < seconds * 20; i++) {
    if (await isSo()) return;
    await delay(50);
  }
  assert.fail(`not within ${seconds} s: ${what}`);
}

/** @param {(triton: Triton) => Promise<void>} test @param {object} [more] */
async function served(test, more = {}) {
  const before = folders();
  const triton = new Triton({ ...options, ...more });
  triton.bind(times(2));
  try {
    await triton.run();
    await test(triton);
  } finally {
    await Promise.all(clients.splice(0).map((client) => client.close()));
    await triton.stop();
  }
  assert.deepEqual(
    folders().filter((name) => !before.includes(name)),
    [],
    'a folder is left',
  );
  // A killed process takes a moment to end.
  await until(() => children(process.pid).length === 0, 'the end of all processes', 5);
  assert.deepEqual(sharedMemory(process.pid), [], 'shared memory is left');
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  server.close();
  return port;
}

async function startChild() {
  const before = folders();
  const port = await freePort();
  const file = fileURLToPath(new URL('child.mjs', import.meta.url));
  const child = spawn(process.execPath, [file, tritonserverPath, String(port)], { stdio: ['ignore', 'pipe', 'pipe'] });
  let text = '';
  child.stderr.on('data', (chunk) => (text += chunk));
  const exited = once(child, 'exit');
  await Promise.race([once(child.stdout, 'data'), exited.then(() => assert.fail(text))]);
  const pid = /** @type {number} */ (child.pid);
  return { child, pid, port, exited, folders: folders().filter((name) => !before.includes(name)), text: () => text };
}

/** @param {number} pid @param {readonly string[]} made */
async function expectNothingLeft(pid, made) {
  await until(() => children(pid).length === 0, 'the end of tritonserver and its stubs');
  await until(() => sharedMemory(pid).length === 0, 'the end of the shared memory');
  await until(() => !folders().some((name) => made.includes(name)), 'the end of the folder');
}

/** @type {Record<string, () => Promise<void>>} */
const CASES = {
  'tritonserver dies with the process that is killed': async () => {
    const { child, pid, folders: made, exited } = await startChild();
    assert.ok(children(pid).length >= 2, 'tritonserver and a stub run');
    assert.equal(made.length, 1);
    child.kill('SIGKILL');
    await exited;
    await expectNothingLeft(pid, made);
  },
  'SIGTERM ends everything in order': async () => {
    const { child, pid, folders: made, exited } = await startChild();
    child.kill('SIGTERM');
    assert.deepEqual(await exited, [0, null]);
    await expectNothingLeft(pid, made);
  },
  'an unrecoverable error is answered and ends the process with 1': async () => {
    const { pid, port, folders: made, exited, text } = await startChild();
    const response = await fetch(`http://127.0.0.1:${port}/v2/models/Double/infer`, {
      method: 'POST',
      body: JSON.stringify({ inputs: [{ name: 'x', datatype: 'INT32', shape: [1, 1], data: [-1] }] }),
    });
    assert.deepEqual([response.status, await response.json()], [500, { error: 'out of order' }]);
    const [code] = await exited;
    assert.equal(code, 1, text());
    await expectNothingLeft(pid, made);
  },
  'a tritonserver that is killed comes again': () =>
    served(async (triton) => {
      const times2 = ask(triton);
      assert.equal(await times2(4), 8);
      /** @type {string[]} */
      const deaths = [];
      triton.onUnrecoverable = ({ code }) => void deaths.push(code);
      // The shell that has started it ends with it.
      const shells = new Set(processes('/bin/sh', `tstriton-${process.pid}-`));
      for (const pid of processes('bin/tritonserver', `tstriton-${process.pid}-`)) {
        if (!shells.has(pid)) process.kill(Number(pid), 'SIGKILL');
      }
      await until(() => deaths.length === 1, 'the news of the death');
      assert.equal(triton.isReady, false);
      await until(() => triton.isReady, 'the restart');
      assert.equal(await times2(5), 10);
      assert.deepEqual(deaths, ['UNAVAILABLE']);
    }),
  'a stub that is killed comes again': () =>
    served(async (triton) => {
      const times2 = ask(triton);
      for (const pid of processes('triton_python_backend_stub', `tstriton-${process.pid}-`))
        process.kill(Number(pid), 'SIGKILL');
      await until(async () => (await times2(6).catch(() => undefined)) === 12, 'an answer of the new stub');
    }),
  'models are bound, replaced and unbound while it runs, and no request is lost': () =>
    served(async (triton) => {
      const ask2 = ask(triton);
      let isOver = false;
      let answers = 0;
      const asking = (async () => {
        for (let x = 1; !isOver; x++) {
          const factor = (await ask2(x)) / x;
          assert.ok(factor === 2 || factor === 3, `got ${factor}`);
          answers++;
        }
      })();
      await triton.rebind(times(3));
      assert.equal(await ask2(7), 21);
      isOver = true;
      await asking;
      assert.ok(answers > 10);
      triton.bind({ ...times(5), modelName: 'Later' });
      await triton.ready('Later');
      await triton.unbind('Times');
      await assert.rejects(ask2(1), { message: /Times/ });
      assert.equal(triton.isReady, true);
    }),
  'two versions of a model are served': () =>
    served(async (triton) => {
      triton.bind({ ...times(10), modelVersion: 2 });
      await triton.ready('Times');
      const url = `http://127.0.0.1:${triton.httpPort}`;
      for (const [modelVersion, factor] of [
        [1, 2],
        [2, 10],
      ]) {
        const client = /** @type {any} */ (new ModelClient(url, 'Times', { modelVersion: Number(modelVersion) }));
        clients.push(client);
        assert.equal((await client.inferSample({ x: [3] })).y.data[0], 3 * Number(factor));
      }
      triton.bind({ ...times(10), modelVersion: 3, inputs: { x: { dtype: 'int64', shape: [1] } } });
      await assert.rejects(triton.ready('Times'), { code: 'INVALID_ARG', message: /differs from version/ });
    }),
  'a stop waits for a request under way': () =>
    served(async (triton) => {
      await triton.rebind(times(4, 1500));
      const answer = ask(triton)(5);
      await delay(300);
      await triton.stop();
      assert.equal(await answer, 20);
    }),
  'a missing binary is told, and nothing is left': () =>
    assert.rejects(
      served(async () => undefined, { tritonserverPath: '/nowhere/tritonserver' }),
      {
        code: 'UNAVAILABLE',
        message: /lacks the binary: there is no \/nowhere\/tritonserver/,
      },
    ),
  'a wrong flag is told, and nothing is left': () =>
    assert.rejects(
      served(async () => undefined, { tritonserverArgs: ['--no-such-flag=1'] }),
      {
        code: 'UNAVAILABLE',
        message: /tritonserver ended with code 1: .*no-such-flag/,
      },
    ),
  'a port that is taken is told, and nothing is left': async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
    await assert.rejects(
      served(async () => undefined, { httpPort: port }),
      { code: 'UNAVAILABLE', message: new RegExp(`127.0.0.1:${port} for HTTP`) },
    );
    server.close();
  },
  'a name that a folder of the repository has too is told, and nothing is left': async () => {
    const repository = mkdtempSync(join(scratch, 'repository-'));
    mkdirSync(join(repository, 'Times', '1'), { recursive: true });
    writeFileSync(join(repository, 'Times', 'config.pbtxt'), 'backend: "python"');
    const before = folders();
    await assert.rejects(
      served(async () => undefined, { modelRepository: [repository] }),
      { code: 'ALREADY_EXISTS', message: "model 'Times': model appears in two or more repositories" },
    );
    assert.deepEqual(folders(), before, 'a folder is left');
    await until(() => children(process.pid).length === 0, 'the end of all processes', 5);
  },
  'a model that tritonserver cannot serve is told': () =>
    served(async (triton) => {
      triton.bind({ ...times(2), modelName: 'Routed', route: 'POST /times' });
      await assert.rejects(triton.ready('Routed'), { code: 'UNSUPPORTED', message: /route/ });
      triton.bind({
        modelName: 'Half',
        inferFunc: batch(({ x }) => ({ y: x })),
        inputs: { x: { dtype: 'bfloat16', shape: [1] } },
        outputs: { y: { dtype: 'bfloat16', shape: [1] } },
      });
      await assert.rejects(triton.ready('Half'), { code: 'UNSUPPORTED', message: /bfloat16/ });
    }),
};

let failures = 0;
for (const [name, test] of Object.entries(CASES)) {
  if (!name.includes(part)) continue;
  log.length = 0;
  try {
    await Promise.race([test(), delay(90_000).then(() => assert.fail('not done after 90 s'))]);
    process.stdout.write(`ok   ${name}\n`);
  } catch (error) {
    failures++;
    process.stdout.write(`FAIL ${name}\n  ${String(error)}\n  ${log.slice(-12).join('\n  ')}\n`);
  }
}
process.stdout.write(failures === 0 ? 'all ok\n' : `${failures} failed\n`);
process.exitCode = failures === 0 ? 0 : 1;
