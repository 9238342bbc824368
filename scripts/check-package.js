// `npm run check-package [-- <node>...]`: whether the package can be published. It is packed; publint and attw look at it; its contents are
// compared with what its package.json promises; it is installed into an empty project; and the quick start of its README is run
// from there, on this Node and on each whose binary is named.
import { execFileSync, spawn } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

import { targets } from './reached-files.js';

const root = fileURLToPath(new URL('..', import.meta.url));
const tools = ['publint@0.3.25', '@arethetypeswrong/cli@0.18.5'];
/** Tests, sources and documents for maintainers have no place in the package. */
const UNWANTED = /^(?:test|bench|examples|site|src|page)\/|internals\/|\.test\.|\.tsbuildinfo$|(?:^|\/)\.[a-z]/;
const LARGEST_BYTES = 3_000_000;

/**
 * @param {string} cwd
 * @param {string} command
 * @param {readonly string[]} args
 */
function run(cwd, command, ...args) {
  try {
    return execFileSync(command, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  } catch (error) {
    const { stdout = '', stderr = '' } = /** @type {{ stdout?: string, stderr?: string }} */ (error);
    throw new Error(`${command} ${args.join(' ')} failed\n${stdout}${stderr}`, { cause: error });
  }
}

/** @param {string} folder @param {string} name */
function emptyProject(folder, name) {
  cpSync(join(root, '.npmrc'), join(folder, '.npmrc'));
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name, private: true, type: 'module' }));
}

/** @param {string} packed the installed package */
function checkContents(packed) {
  const { exports, bin } = JSON.parse(readFileSync(join(packed, 'package.json'), 'utf8'));
  const missing = targets([exports, bin]).filter((path) => !existsSync(join(packed, path)));
  if (missing.length > 0) throw new Error(`package.json names files that the package lacks: ${missing.join(', ')}`);
}

/** The first block of a kind in the README. @param {string} readme @param {string} kind */
function block(readme, kind) {
  const code = new RegExp(`<!-- test: ${kind} -->\\s+\`\`\`\\w+\\n([\\s\\S]*?)\`\`\``).exec(readme)?.[1];
  if (code === undefined) throw new Error(`the README has no block '${kind}'`);
  return code;
}

/**
 * The quick start, as a reader runs it, but for its ports.
 * @param {string} project
 * @param {string} node
 */
async function quickStart(project, node) {
  const tsx = ['--import', 'tsx'];
  const ports = ['HTTP', 'GRPC', 'METRICS'].map((name) => [`TSTRITON_CONFIG_${name}_PORT`, '0']);
  const env = { ...process.env, ...Object.fromEntries(ports) };
  const server = spawn(node, [...tsx, 'server.ts'], { cwd: project, env, stdio: ['ignore', 'ignore', 'pipe'] });
  const ended = new Promise((resolve) => server.once('close', resolve));
  try {
    /** @type {Map<string, string>} */
    const started = new Map();
    for await (const line of createInterface({ input: server.stderr })) {
      const [, service, port] = /Started (\w+) at .*:(\d+)/.exec(line) ?? [];
      if (service !== undefined && port !== undefined) started.set(service, port);
      if (line.includes('successfully loaded')) break;
    }
    const [grpc, http] = [started.get('GRPCInferenceService'), started.get('HTTPService')];
    if (grpc === undefined || http === undefined)
      throw new Error(`the server of the quick start did not start on ${node}`);
    const client = block(readFileSync(join(project, 'node_modules/tstriton/README.md'), 'utf8'), 'client');
    writeFileSync(join(project, 'client.ts'), client.replace('grpc://localhost', `grpc://localhost:${grpc}`));
    const printed = run(project, node, ...tsx, 'client.ts');
    if (!printed.includes('11, 22') || !printed.includes('-9, -18')) throw new Error(`the client printed ${printed}`);
    const ready = await fetch(`http://localhost:${http}/v2/health/ready`);
    if (ready.status !== 200) throw new Error(`the server is not ready: ${ready.status}`);
    server.stderr.resume();
    server.kill('SIGINT');
    const code = await ended;
    if (code !== 0) throw new Error(`the server ended with ${String(code)}`);
  } finally {
    server.kill('SIGKILL');
  }
}

const folder = mkdtempSync(join(tmpdir(), 'tstriton-package-'));
try {
  const tarball = run(root, process.execPath, 'scripts/pack.js', folder).trim();
  const listed = run(folder, 'tar', '-tzf', tarball)
    .trim()
    .split('\n')
    .map((path) => path.replace(/^package\//, ''));
  const unwanted = listed.filter((path) => UNWANTED.test(path));
  if (unwanted.length > 0) throw new Error(`the package has files that it should not: ${unwanted.join(', ')}`);
  const bytes = readFileSync(tarball).length;
  if (bytes > LARGEST_BYTES) throw new Error(`the package has ${bytes} bytes, expected at most ${LARGEST_BYTES}`);
  console.log(`contents: ${listed.length} files, ${(bytes / 1e6).toFixed(2)} MB packed`);

  const toolsFolder = mkdtempSync(join(folder, 'tools-'));
  emptyProject(toolsFolder, 'tools');
  run(toolsFolder, 'npm', 'install', ...tools);
  run(toolsFolder, 'npx', '--no-install', 'publint', 'run', tarball, '--strict');
  console.log('publint: nothing to say');
  run(toolsFolder, 'npx', '--no-install', 'attw', tarball, '--profile', 'esm-only');
  console.log('attw: the types of every entry resolve');

  const project = mkdtempSync(join(folder, 'project-'));
  emptyProject(project, 'project');
  run(project, 'npm', 'install', tarball, 'tsx');
  checkContents(join(project, 'node_modules/tstriton'));
  const readme = readFileSync(join(project, 'node_modules/tstriton/README.md'), 'utf8');
  writeFileSync(join(project, 'server.ts'), block(readme, 'server'));
  for (const node of [process.execPath, ...process.argv.slice(2)]) {
    await quickStart(project, node);
    console.log(`quick start: works on ${run(project, node, '--version').trim()}`);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
