// Installs the other servers, each into an environment of its own in the folder that BENCH_PEERS_CACHE names, and finds it
// there the next time. What cannot be installed is told with the last words of pip.

import { spawn } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export type EnvironmentName = 'triton' | 'mlserver' | 'kserve' | 'litserve' | 'fastapi';

/** Of PyTriton's package comes a tritonserver too. */
const PACKAGES: Readonly<Record<EnvironmentName, readonly string[]>> = {
  triton: ['numpy==1.26.4', 'nvidia-pytriton==0.7.0'],
  mlserver: ['mlserver==1.7.1'],
  kserve: ['kserve==0.21.0'],
  litserve: ['numpy==1.26.4', 'litserve==0.2.19'],
  fastapi: ['numpy==1.26.4', 'uvicorn[standard]==0.54.0', 'fastapi==0.165.0'],
};

export function versionsOf(name: EnvironmentName): string {
  return PACKAGES[name].at(-1)!.replace('==', ' ');
}

/** Triton's stub for Python models must be run by the Python that it was built for: the system's, not one built beside it. */
const PYTHON = existsSync('/usr/bin/python3') ? '/usr/bin/python3' : 'python3';
const INSTALL_SECONDS = 600;

export interface Environment {
  readonly folder: string;
  readonly bin: string;
}

/** Throws why it cannot be had. */
export async function environmentOf(name: EnvironmentName): Promise<Environment> {
  const cache = process.env['BENCH_PEERS_CACHE'];
  if (!cache) throw new Error('not installed: BENCH_PEERS_CACHE names no folder to install it into');
  const folder = join(cache, PACKAGES[name].join('-').replaceAll('==', '-'));
  const bin = join(folder, 'bin');
  const marker = join(folder, 'complete');
  if (existsSync(marker)) return { folder, bin };
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(cache, { recursive: true });
  await step(PYTHON, ['-m', 'venv', folder]);
  await step(join(bin, 'pip'), ['install', '--disable-pip-version-check', '--quiet', ...PACKAGES[name]]);
  if (name === 'triton') await completeTriton(folder, bin);
  writeFileSync(marker, '');
  return { folder, bin };
}

/** Where tritonserver and what it needs lie in the environment. */
export function tritonPaths({ folder }: Environment) {
  const packages = join(folder, 'packages');
  const server = join(packages, 'pytriton', 'tritonserver');
  return {
    server: join(server, 'bin', 'tritonserver'),
    /** In the folder that pip has put it into. */
    wheelServer: join(realpathSync(server), 'bin', 'tritonserver'),
    libraries: join(packages, 'nvidia_pytriton.libs'),
    backends: join(folder, 'backends'),
    caches: join(server, 'caches'),
  };
}

/** PyTriton puts the stub of the Python that runs beside its backend when it starts; whoever starts tritonserver does so too. */
async function completeTriton(folder: string, bin: string): Promise<void> {
  const ask = 'import sys, sysconfig; print(sysconfig.get_path("purelib"), "%d.%d" % sys.version_info[:2])';
  const [packages, version] = (await step(join(bin, 'python'), ['-c', ask])).trim().split(' ');
  // One place, whatever the version of Python.
  await step('ln', ['-s', packages!, join(folder, 'packages')]);
  const server = join(packages!, 'pytriton', 'tritonserver');
  const backend = join(folder, 'backends', 'python');
  cpSync(join(server, 'backends', 'python'), backend, { recursive: true });
  const stub = 'triton_python_backend_stub';
  cpSync(join(server, 'python_backend_stubs', version!, stub), join(backend, stub));
}

/** Returns what the program printed. */
function step(program: string, parameters: readonly string[]): Promise<string> {
  const child = spawn(program, parameters, { stdio: ['ignore', 'pipe', 'pipe'], timeout: INSTALL_SECONDS * 1000 });
  const printed: Buffer[] = [];
  const complaints: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => printed.push(chunk));
  child.stderr.on('data', (chunk: Buffer) => complaints.push(chunk));
  return new Promise((resolve, reject) => {
    child.on('error', (error) => reject(new Error(`cannot be installed: ${program}: ${error.message}`)));
    child.on('close', (code, signal) => {
      if (code === 0) return resolve(Buffer.concat(printed).toString());
      const last = Buffer.concat(complaints).toString().trim().split('\n').slice(-2).join(' ');
      reject(new Error(`cannot be installed: ${last || `${program} ended with ${signal ?? code}`}`));
    });
  });
}
