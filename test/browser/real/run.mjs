// Runs the checks where the client for browsers is to run: `node run.mjs <folder of tools>` in Chromium, in a page and in a worker
// of it, from another origin than the server's; in Deno and in Bun, there with the client for Node too. One line a check; the exit
// code is 0 when all are ok. With a third argument it writes a picture of the page there.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { devNull, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { build } from 'esbuild';

import { Triton } from 'tstriton';

import { bindModels } from './models.mjs';

const [tools = '', picture] = process.argv.slice(2);
const HERE = fileURLToPath(new URL('.', import.meta.url));
const DIST = new URL('../../../dist/', import.meta.url);
/** What a page of a healthy machine needs seconds for. */
const LIMIT_MS = 120_000;

let failed = 0;

/**
 * @param {string} where
 * @param {readonly { readonly name: string, readonly outcome: string }[]} outcomes
 */
function report(where, outcomes) {
  if (outcomes.length === 0) outcomes = [{ name: 'runs the checks', outcome: 'there are none' }];
  for (const { name, outcome } of outcomes) {
    if (outcome !== '') failed++;
    process.stdout.write(
      `${outcome === '' ? 'ok' : 'not ok'} ${where}: ${name}${outcome === '' ? '' : `\n    ${outcome}`}\n`,
    );
  }
}

/**
 * What a process prints.
 * @param {string} command
 * @param {readonly string[]} args
 * @returns {Promise<string>}
 */
function output(command, args) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'], timeout: LIMIT_MS });
    let text = '';
    child.stdout.on('data', (chunk) => (text += chunk));
    child.on('error', reject);
    child.on('close', (code, signal) =>
      code === 0 ? resolve(text) : reject(new Error(`${command} ended with ${code ?? signal}: ${text}`)),
    );
  });
}

/**
 * @param {string} name
 * @param {string} command
 * @param {readonly string[]} args
 */
async function inRuntime(name, command, args) {
  for (const [client, module, url] of /** @type {const} */ ([
    ['fetch', 'client/browser.js', `http://127.0.0.1:${triton.httpPort}`],
    ['http', 'client/index.js', `http://127.0.0.1:${triton.httpPort}`],
    ['grpc', 'client/index.js', `grpc://127.0.0.1:${triton.grpcPort}`],
  ])) {
    const where = `${name}, ${client}`;
    try {
      const text = await output(command, [...args, join(HERE, 'runtime.mjs'), new URL(module, DIST).href, url]);
      report(where, JSON.parse(text));
    } catch (error) {
      report(where, [{ name: 'runs the checks', outcome: String(error) }]);
    }
  }
}

async function inChromium() {
  const { outputFiles } = await build({
    entryPoints: [join(HERE, 'page.mjs')],
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
  });
  const script = outputFiles[0]?.text ?? '';
  /** @type {Set<string>} */
  const told = new Set();
  let done = () => {};
  const all = new Promise((resolve) => (done = () => resolve(undefined)));
  const pages = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://page');
    if (pathname === '/outcomes') {
      let body = '';
      request.on('data', (chunk) => (body += chunk));
      request.on('end', () => {
        const where = String(searchParams.get('where'));
        if (!told.has(where)) report(`Chromium, ${where}`, JSON.parse(body));
        if (told.add(where).size === 2) done();
        response.end();
      });
      return;
    }
    if (pathname === '/all-told') {
      // The page is loaded, and its picture taken, when everything is told.
      void all.then(() => response.end());
      return;
    }
    const isScript = pathname.endsWith('.js');
    response.writeHead(200, { 'content-type': isScript ? 'text/javascript' : 'text/html' });
    response.end(
      isScript
        ? script
        : '<!doctype html><meta charset="utf-8"><style>.failed{color:red}img{display:none}</style><img src="/all-told"><script type="module" src="/page.js"></script>',
    );
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => pages.once('listening', resolve));
  const { port } = /** @type {import('node:net').AddressInfo} */ (pages.address());
  // Another host, hence another origin, than the server's.
  const page = `http://localhost:${port}/?server=${encodeURIComponent(`http://127.0.0.1:${triton.httpPort}`)}`;
  const profile = mkdtempSync(join(tmpdir(), 'tstriton-chromium-'));
  const show = picture === undefined ? [] : [`--screenshot=${picture}`, '--window-size=900,700'];
  const chromium = spawn(
    process.env['CHROMIUM'] ?? 'chromium',
    ['--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', `--user-data-dir=${profile}`, ...show, page],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  ); // prettier-ignore
  let said = '';
  chromium.stderr.on('data', (chunk) => (said += chunk));
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  const ended = new Promise((resolve) => chromium.once('close', resolve));
  const late = new Promise((resolve) => (timer = setTimeout(resolve, LIMIT_MS, 'late')));
  await Promise.race([all, ended, late, new Promise((_, reject) => chromium.once('error', reject))]);
  if (picture !== undefined) await Promise.race([ended, late]);
  clearTimeout(timer);
  if (told.size < 2) report('Chromium', [{ name: 'runs the checks', outcome: said.slice(-2000) }]);
  chromium.kill();
  await ended;
  pages.closeAllConnections();
  pages.close();
  rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
}

const triton = new Triton({
  httpPort: 0,
  grpcPort: 0,
  allowMetrics: false,
  logFile: devNull,
  corsAllowOrigin: ['*'],
  restrictedEndpoints: [],
});
bindModels(triton);
await triton.run();
try {
  await inChromium();
  await inRuntime('Deno', join(tools, 'deno'), ['run', '--no-config', '--node-modules-dir=manual', '--allow-all']);
  await inRuntime('Bun', join(tools, 'bun'), ['run']);
} finally {
  await triton.stop();
}
process.stdout.write(failed === 0 ? 'all ok\n' : `${failed} failed\n`);
process.exitCode = failed === 0 ? 0 : 1;
