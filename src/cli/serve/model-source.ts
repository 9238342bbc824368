// A file that is served: a module, or an ONNX model.

import { existsSync, statSync } from 'node:fs';
import { basename, extname, relative, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

import { invalidArg, TritonError } from '../../errors.js';
import { importModule } from '../../host/import-module.js';
import { runningTsx } from '../../host/running-tsx.js';
import { checkModelName } from '../../model/complete-signature.js';
import { importingModels } from '../../server/importing-models.js';
import { modelsOf, type ServedModel } from './exported-models.js';
import { loadFailure } from './load-failure.js';

export interface SourceOptions {
  /** Of an ONNX model: another name than the file's. */
  readonly name?: string | undefined;
  readonly instances?: number | undefined;
  readonly maxBatchSize?: number | undefined;
}

export interface ModelSource {
  /** Absolute. */
  readonly path: string;
  /** As messages call it. */
  readonly name: string;
  readonly kind: 'module' | 'onnx';
  readonly options: SourceOptions;
}

const MODULES = ['.ts', '.mts', '.cts', '.js', '.mjs', '.cjs'];
const KINDS = `expected a module (${MODULES.join(', ')}) or an .onnx file`;

/** Throws INVALID_ARG for any other file, and for options that do not apply to the file. */
export function modelSource(file: string, options: SourceOptions): ModelSource {
  const path = resolve(file);
  const name = relative(process.cwd(), path);
  if (!existsSync(path)) throw invalidArg(`there is no file ${file}, ${KINDS}`);
  if (statSync(path).isDirectory())
    throw invalidArg(`${file} is a folder, ${KINDS}; --model-repository serves a folder of models`);
  const extension = extname(path);
  if (extension.toLowerCase() === '.onnx') {
    if (options.name === undefined) checkNameOf(path);
    return { path, name, kind: 'onnx', options };
  }
  if (!MODULES.includes(extension)) throw invalidArg(`${file} cannot be served, ${KINDS}`);
  for (const option of ['name', 'maxBatchSize'] as const) {
    if (options[option] === undefined) continue;
    const flag = option === 'name' ? '--name' : '--max-batch-size';
    throw invalidArg(`${flag} is for ONNX files; ${file} is a module, which says it itself`);
  }
  return { path, name, kind: 'module', options };
}

/** The file's name is the model's. */
function checkNameOf(path: string): void {
  try {
    checkModelName(basename(path, extname(path)));
  } catch (error) {
    throw invalidArg(`${TritonError.from(error).message}; --name gives the model another name than its file's`, {
      cause: error,
    });
  }
}

type ImportFile = (path: string) => Promise<Readonly<Record<string, unknown>>>;

const importOnce: ImportFile = (path) => importModule(pathToFileURL(path).href, runningTsx());

/** Rejects with a LoadFailure when a module does not load, with INVALID_ARG when it has no models. */
export async function loadModels(
  source: ModelSource,
  importFile: ImportFile = importOnce,
): Promise<readonly ServedModel[]> {
  const { path, name, kind, options } = source;
  if (kind === 'onnx') {
    const { onnx } = await import('../../onnx/onnx.js');
    const model = onnx(path, {
      ...(options.name !== undefined && { modelName: options.name }),
      ...(options.instances !== undefined && { count: options.instances }),
      ...(options.maxBatchSize !== undefined && { config: { maxBatchSize: options.maxBatchSize } }),
    });
    return [model as unknown as ServedModel];
  }
  const url = pathToFileURL(path).href;
  try {
    const exported = await importingModels(name, () => importFile(path));
    return await modelsOf(exported, { name, url, instances: options.instances });
  } catch (error) {
    throw await loadFailure(error, { file: path, url });
  }
}
