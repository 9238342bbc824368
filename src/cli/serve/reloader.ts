// Serves the files anew that have changed, without dropping a request: a new model replaces the model of its name once it is
// loaded. A version that does not load is reported, and the one before goes on.

import { performance } from 'node:perf_hooks';
import { dirname, extname, relative, resolve, sep } from 'node:path';

import { TritonError } from '../../errors.js';
import { ModelBinding } from '../../server/model-binding.js';
import type { Triton } from '../../triton.js';
import type { ServedModel } from './exported-models.js';
import { LoadFailure } from './load-failure.js';
import { loadModels, type ModelSource } from './model-source.js';
import { FolderWatcher } from './folder-watcher.js';
import { VersionedImports } from './versioned-imports.js';

/** Editors write a file in several steps. */
const SETTLE_MILLISECONDS = 80;
const CODE = ['.ts', '.mts', '.cts', '.tsx', '.js', '.mjs', '.cjs', '.jsx'];

/** The models of a source that are bound, by their keys. */
type Bound = Map<string, ServedModel>;

export interface ReloadPlan {
  readonly replaced: readonly string[];
  readonly added: readonly string[];
  readonly removed: readonly string[];
}

/** What becomes of the keys of a source's models. */
export function planReload(before: readonly string[], after: readonly string[]): ReloadPlan {
  return {
    replaced: after.filter((key) => before.includes(key)),
    added: after.filter((key) => !before.includes(key)),
    removed: before.filter((key) => !after.includes(key)),
  };
}

export class Reloader {
  readonly #sources: readonly ModelSource[];
  readonly #say: (line: string) => void;
  readonly #imports: VersionedImports;
  readonly #watcher: FolderWatcher;
  readonly #bound = new Map<ModelSource, Bound>();
  /** The files that ONNX models have their weights in. */
  readonly #weights = new Map<ModelSource, readonly string[]>();
  #triton: Triton | undefined;
  #changed = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #reloads = 0;
  /** The number of the reload that each source is served from. */
  readonly #served = new Map<ModelSource, number>();

  constructor(sources: readonly ModelSource[], say: (line: string) => void) {
    this.#sources = sources;
    this.#say = say;
    this.#watcher = new FolderWatcher(
      (path) => this.#onChange(path),
      (message) => say(message),
    );
    this.#imports = new VersionedImports((path) => this.#watcher.watchFile(path));
    // Before the files are read, so that no change is missed.
    for (const { path, kind } of sources) {
      if (kind === 'onnx') this.#watcher.watchFile(path);
      else this.#watcher.watchTree(dirname(path));
    }
  }

  /** The models as they are now. */
  async load(source: ModelSource): Promise<readonly ServedModel[]> {
    const models = await loadModels(source, (path) => this.#imports.import(path));
    await this.#watchWeights(source);
    this.#bound.set(source, keyed(models));
    return models;
  }

  /** From now on changes are served. */
  start(triton: Triton): void {
    this.#triton = triton;
    if (this.#changed.size > 0) this.#schedule();
  }

  close(): void {
    this.#triton = undefined;
    clearTimeout(this.#timer);
    this.#watcher.close();
  }

  #onChange(path: string): void {
    if (this.#affectedBy(path).length === 0) return;
    this.#changed.add(path);
    if (this.#triton !== undefined) this.#schedule();
  }

  /** A file that nothing is known to import may be the module of an instance's thread, or a part of it. */
  #affectedBy(path: string): readonly ModelSource[] {
    const isImported = this.#imports.files.has(path);
    return this.#sources.filter((source) => {
      if (source.path === path || this.#weights.get(source)?.includes(path) === true) return true;
      if (source.kind === 'onnx') return false;
      return isImported || (CODE.includes(extname(path)) && isBelow(path, dirname(source.path)));
    });
  }

  /** They may be written after the model that names them. */
  async #watchWeights(source: ModelSource): Promise<void> {
    if (source.kind !== 'onnx') return;
    const { readOnnxSignature } = await import('../../onnx/onnx-signature.js');
    const files = readOnnxSignature(source.path).weightFiles.map((file) => resolve(dirname(source.path), file));
    for (const file of files) this.#watcher.watchFile(file);
    this.#weights.set(source, files);
  }

  #schedule(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#reloadChanged(), SETTLE_MILLISECONDS);
  }

  /** An import may never end. It keeps neither other files waiting nor the next version of its own. */
  #reloadChanged(): void {
    const changed = this.#changed;
    this.#changed = new Set();
    const affected = new Set([...changed].flatMap((path) => this.#affectedBy(path)));
    for (const source of affected) void this.#reload(source);
  }

  async #reload(source: ModelSource): Promise<void> {
    const triton = this.#triton;
    if (triton === undefined) return;
    const started = performance.now();
    const number = ++this.#reloads;
    const isOver = () => this.#triton === undefined || number < (this.#served.get(source) ?? 0);
    let after: Bound;
    try {
      after = keyed(await loadModels(source, (path) => this.#imports.import(path)));
      await this.#watchWeights(source);
    } catch (error) {
      if (!isOver()) this.#say(`${source.name}: the version before goes on\n${failureText(error)}`);
      return;
    }
    // A later version was there first.
    if (isOver()) return;
    this.#served.set(source, number);
    const before = this.#bound.get(source) ?? new Map<string, ServedModel>();
    this.#bound.set(source, after);
    const { replaced, added, removed } = planReload([...before.keys()], [...after.keys()]);
    const report = (what: string, model: string) =>
      this.#say(`${what} ${nameOf(model)} (${source.name}, ${Math.round(performance.now() - started)} ms)`);
    const outcomes = [
      ...replaced.map(async (key) => {
        triton.bind(after.get(key)!, { replace: true });
        // Not until the last client of the version before has gone.
        await triton.ready(nameOf(key));
        report('reloaded', key);
      }),
      ...added.map(async (key) => {
        try {
          triton.bind(after.get(key)!);
        } catch (error) {
          // The name is another file's.
          after.delete(key);
          throw error;
        }
        await triton.ready(nameOf(key));
        report('serves', key);
      }),
      ...removed.map(async (key) => {
        const [name, version] = [nameOf(key), Number(key.slice(key.lastIndexOf('/') + 1))];
        await triton.unbind(name, version);
        report('serves no more', key);
      }),
    ];
    // A client that listens to a stream of the old version for hours keeps nobody from the next one.
    for (const outcome of outcomes) {
      outcome.catch((error: unknown) => {
        // A later version has ended its load.
        if (isOver()) return;
        this.#say(`${source.name}: the version before goes on\n${failureText(error)}`);
      });
    }
  }
}

/** Throws INVALID_ARG for a model that cannot be bound. */
function keyed(models: readonly ServedModel[]): Bound {
  return new Map(models.map((model) => [new ModelBinding(model).key, model]));
}

function nameOf(key: string): string {
  return key.slice(0, key.lastIndexOf('/'));
}

function isBelow(path: string, folder: string): boolean {
  const below = relative(folder, path);
  return !below.startsWith('..') && !below.split(sep).includes('node_modules');
}

function failureText(error: unknown): string {
  return error instanceof LoadFailure ? error.diagnostics : TritonError.from(error).message;
}
