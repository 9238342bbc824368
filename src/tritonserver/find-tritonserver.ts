// Finds NVIDIA's tritonserver and what it needs: as its container has it, or as PyPI's `nvidia-pytriton` brings it along.

import { spawnSync } from 'node:child_process';
import {
  accessSync,
  constants,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { delimiter, dirname, join } from 'node:path';

import { TritonError } from '../errors.js';

/** Where NVIDIA's container has it. */
const CONTAINER_PATH = '/opt/tritonserver/bin/tritonserver';

const STUB = 'triton_python_backend_stub';
const BACKEND = 'libtriton_python.so';

export interface Tritonserver {
  readonly binary: string;
  /** Flags that this installation needs. */
  readonly flags: readonly string[];
  /** Variables of the environment that it needs, beside those of this process. */
  readonly environment: Readonly<Record<string, string>>;
}

/** Where an installation has its parts. */
interface Parts {
  readonly binary: string;
  /** Runs `model.py`. */
  readonly stub: string;
  /** The library that tritonserver loads for it. */
  readonly backend: string;
  readonly environment: Readonly<Record<string, string>>;
  /** The folder of packages of a wheel; undefined for an installation of another kind. */
  readonly wheel: string | undefined;
}

/**
 * Finds the binary: the given one, else `tritonserver` on the PATH, else the one of NVIDIA's container. `scratch`: an empty
 * folder that lives as long as the server. Throws UNAVAILABLE naming the missing part.
 */
export function findTritonserver(path: string | undefined, scratch: string): Tritonserver {
  const { binary, stub, environment, wheel } = partsOf(path);
  return { binary, environment, flags: wheel === undefined ? [] : useWheel(wheel, stub, scratch) };
}

/**
 * The path of the binary that would run. Throws UNAVAILABLE naming what is missing: also what tritonserver itself would name when it
 * loads a model.
 */
export function checkTritonserver(path: string | undefined): string {
  const { binary, backend, environment } = partsOf(path);
  if (!existsSync(backend)) throw missing(`its python backend: there is no ${backend}`);
  // What the binary has loaded is there for the backend too, wherever it lies.
  const loaded = new Set(librariesOf(binary, environment).map(({ name }) => name));
  expectLibraries(
    backend,
    librariesOf(backend, environment).filter(({ name }) => !loaded.has(name)),
  );
  return binary;
}

function partsOf(path: string | undefined): Parts {
  const binary = path === undefined ? findBinary() : expectExecutable(path);
  const real = realpathSync(binary);
  const wheel = wheelOf(real);
  const parts = wheel === undefined ? containerParts(binary, real) : wheelParts(binary, wheel);
  for (const file of [parts.binary, parts.stub]) expectLibraries(file, librariesOf(file, parts.environment));
  return parts;
}

function containerParts(binary: string, real: string): Parts {
  const backend = join(dirname(dirname(real)), 'backends', 'python');
  const stub = join(backend, STUB);
  if (!existsSync(stub)) throw missing(`its python backend: there is no ${stub}`);
  return { binary, stub, backend: join(backend, BACKEND), environment: {}, wheel: undefined };
}

interface Library {
  readonly name: string;
  readonly isThere: boolean;
}

/** None where there is no `ldd` to ask. */
function librariesOf(file: string, environment: Readonly<Record<string, string>>): readonly Library[] {
  const { stdout } = spawnSync('ldd', [file], { env: { ...process.env, ...environment }, encoding: 'utf8' });
  return [...(stdout ?? '').matchAll(/^\s*(\S+) => (.*)/gm)].map(([, name, place]) => ({
    name: name!,
    isThere: !place!.startsWith('not found'),
  }));
}

function expectLibraries(file: string, libraries: readonly Library[]): void {
  const lacking = libraries.find(({ isThere }) => !isThere);
  if (lacking !== undefined) throw missing(`the library ${lacking.name}, which ${file} needs`);
}

function findBinary(): string {
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  const found = [...folders.map((folder) => join(folder, 'tritonserver')), CONTAINER_PATH].find(isExecutable);
  if (found !== undefined) return found;
  throw missing(
    `the binary: there is no 'tritonserver' on the PATH, nor ${CONTAINER_PATH}; tritonserverPath says where it is`,
  );
}

function expectExecutable(path: string): string {
  if (!existsSync(path)) throw missing(`the binary: there is no ${path}, which tritonserverPath names`);
  if (statSync(path).isDirectory()) throw missing(`the binary: ${path}, which tritonserverPath names, is a folder`);
  if (!isExecutable(path)) throw missing(`the right to run ${path}, which tritonserverPath names`);
  return path;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    // Folders may be entered.
    return !statSync(path).isDirectory();
  } catch {
    return false;
  }
}

/** The folder of a wheel's packages; undefined for a binary of another origin. */
function wheelOf(binary: string): string | undefined {
  const match = /^(.*)\/pytriton\/tritonserver\/bin\/tritonserver$/.exec(binary);
  return match?.[1];
}

function wheelParts(binary: string, packages: string): Parts {
  const version = /\/python(3\.[0-9]+)\//.exec(`${packages}/`)?.[1];
  const stubs = join(packages, 'pytriton', 'tritonserver', 'python_backend_stubs');
  const stub = join(stubs, version ?? 'of an unknown version', STUB);
  if (!existsSync(stub)) throw missing(`the stub of its python backend: there is no ${stub}`);
  // …/lib/python3.11/site-packages: the environment has its Python in …/bin.
  const bin = join(dirname(dirname(dirname(packages))), 'bin');
  const environment = {
    LD_LIBRARY_PATH: joined(join(packages, 'nvidia_pytriton.libs'), process.env['LD_LIBRARY_PATH']),
    PATH: joined(bin, process.env['PATH']),
  };
  const backend = join(packages, 'pytriton', 'tritonserver', 'backends', 'python', BACKEND);
  return { binary, stub, backend, environment, wheel: packages };
}

/** PyTriton puts the stub of the running Python beside its backend; this makes such a folder of links. Returns the flags. */
function useWheel(packages: string, stub: string, scratch: string): readonly string[] {
  const server = join(packages, 'pytriton', 'tritonserver');
  const backend = join(scratch, 'backends', 'python');
  mkdirSync(backend, { recursive: true });
  const own = join(server, 'backends', 'python');
  for (const file of readdirSync(own)) if (!file.startsWith('__')) symlinkSync(join(own, file), join(backend, file));
  cpSync(stub, join(backend, STUB));
  return [`--backend-directory=${join(scratch, 'backends')}`, `--cache-directory=${join(server, 'caches')}`];
}

function joined(first: string, rest: string | undefined): string {
  return rest === undefined || rest === '' ? first : `${first}${delimiter}${rest}`;
}

function missing(what: string): TritonError {
  return new TritonError('UNAVAILABLE', `engine: 'tritonserver' cannot start, it lacks ${what}`);
}
