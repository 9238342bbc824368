// The package as it is published, installed in a folder of a test file's own: packed, unpacked where an install puts it, and beside it what
// it depends on and what users may have installed.
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** Optional peers that tests of the command use. */
const PEERS = ['jiti', 'tsx', 'onnxruntime-node', '@types/node'];

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string | Uint8Array;
}

export interface PackedPackage extends Disposable {
  /** Where programs that use the package lie. */
  readonly folder: string;
  /** The command's own file. */
  readonly command: string;
  /** Writes a file into the folder, and returns its path. */
  write(name: string, content: string | Uint8Array): string;
  /** Runs the command to its end. */
  run(args: readonly string[], options?: RunOptions): Promise<Ended>;
  /** Starts the command. */
  start(args: readonly string[], options?: RunOptions): RunningCommand;
}

export function packedPackage(): PackedPackage {
  const folder = mkdtempSync(join(tmpdir(), 'tstriton-packed-'));
  const modules = join(folder, 'node_modules');
  const own = join(modules, 'tstriton');
  mkdirSync(own, { recursive: true });
  const tarball = execFileSync(process.execPath, [join(ROOT, 'scripts/pack.js'), folder], { encoding: 'utf8' }).trim();
  execFileSync('tar', ['-xzf', tarball, '-C', own, '--strip-components=1']);
  const { dependencies, bin } = JSON.parse(readFileSync(join(own, 'package.json'), 'utf8')) as {
    readonly dependencies: Readonly<Record<string, string>>;
    readonly bin: { readonly tstriton: string };
  };
  for (const name of [...Object.keys(dependencies), ...PEERS]) {
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules', name), join(modules, name));
  }
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  const command = join(own, bin.tstriton);
  const start = (args: readonly string[], options: RunOptions = {}) =>
    new RunningCommand([command, ...args], folder, options);
  return {
    folder,
    command,
    write(name, content) {
      const path = join(folder, name);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, content);
      return path;
    },
    start,
    run: (args, options) => start(args, options).ended,
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}

export interface ServedLine {
  readonly http: string;
  readonly grpc: string;
  readonly metrics: string;
  readonly models: readonly { readonly name: string; readonly version: number; readonly ready: boolean }[];
}

/** A process of the command. */
export class RunningCommand implements AsyncDisposable {
  readonly ended: Promise<Ended>;
  stdout = '';
  stderr = '';
  readonly #child: ChildProcess;
  #isOver = false;
  readonly #watched = new Set<() => void>();

  constructor(args: readonly string[], cwd: string, { env, input }: RunOptions) {
    // As where nothing is set, and where no terminal is.
    const { NO_COLOR: _, FORCE_COLOR: __, ...inherited } = process.env;
    this.#child = spawn(process.execPath, args, { cwd, env: { ...inherited, ...env } });
    this.#child.stdout!.on('data', (chunk) => this.#add('stdout', String(chunk)));
    this.#child.stderr!.on('data', (chunk) => this.#add('stderr', String(chunk)));
    this.#child.stdin!.on('error', () => undefined).end(input ?? '');
    this.ended = new Promise((resolve, reject) => {
      this.#child.once('error', reject);
      this.#child.once('close', (code, signal) => {
        this.#isOver = true;
        for (const look of this.#watched) look();
        resolve({ code, signal, stdout: this.stdout, stderr: this.stderr });
      });
    });
  }

  /** Resolves when what it has written matches; rejects when it has ended before. */
  until(pattern: RegExp, where: 'stdout' | 'stderr' = 'stderr'): Promise<RegExpExecArray> {
    return new Promise((resolve, reject) => {
      const look = () => {
        const found = pattern.exec(this[where]);
        if (found === null && !this.#isOver) return;
        this.#watched.delete(look);
        if (found === null) reject(new Error(`the command ended before it wrote ${pattern}: ${this.stderr}`));
        else resolve(found);
      };
      this.#watched.add(look);
      look();
    });
  }

  /** What a server prints that was started with --json. */
  async served(): Promise<ServedLine> {
    const [line] = await this.until(/^.*\n/, 'stdout');
    return JSON.parse(line) as ServedLine;
  }

  #add(where: 'stdout' | 'stderr', text: string): void {
    this[where] += text;
    for (const look of this.#watched) look();
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#isOver) this.#child.kill('SIGKILL');
    await this.ended;
  }
}
