// Which backend runs a version of a model, and on which file: as the configuration says, or as the files in the version's
// folder do.

import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';

import { invalidArg } from '../errors.js';
import { type ModelFolder, pathInside } from './model-folder.js';
import type { WrittenConfig } from './written-config.js';

/** The names of a backend's file where the configuration gives none; the first that is there counts. */
const FILES = {
  onnxruntime: ['model.onnx'],
  tstriton: ['model.js', 'model.mjs', 'model.ts', 'model.mts'],
} as const;

export type BackendName = keyof typeof FILES;

const BACKENDS = Object.keys(FILES) as BackendName[];

export interface ChosenBackend {
  readonly backend: BackendName;
  /** Of the model's file, without links. */
  readonly path: string;
}

/** Rejects with INVALID_ARG for a backend that there is not, and for a file that is not there. */
export async function chooseBackend(
  { name, path, repository }: ModelFolder,
  { json }: WrittenConfig,
  version: number,
): Promise<ChosenBackend> {
  const folder = join(path, String(version));
  const files = await readdir(folder);
  const named = backendOf(json, name);
  const { default_model_filename: own } = json;
  const given = own === '' ? undefined : await pathInside(repository, folder, own);
  const backend = named ?? backendByFile(own === '' ? files : [own], name);
  const file = own === '' ? FILES[backend].find((each) => files.includes(each)) : own;
  if (file === undefined)
    throw invalidArg(
      `failed to find the file of model '${name}' version ${version} in ${folder}: expected ${FILES[backend].join(' or ')}`,
    );
  const found = given ?? (await pathInside(repository, folder, file));
  // Models with weights of their own come as a folder.
  const isFolder = (await stat(found)).isDirectory();
  return { backend, path: isFolder ? await pathInside(repository, found, FILES[backend][0]) : found };
}

function backendOf({ platform, backend }: WrittenConfig['json'], name: string): BackendName | undefined {
  if (platform !== '' && platform !== 'onnxruntime_onnx')
    throw invalidArg(
      `unexpected platform type '${platform}' for model '${name}': expected onnxruntime_onnx, or backend: "tstriton"`,
    );
  if (backend === '') return platform === '' ? undefined : 'onnxruntime';
  const known = BACKENDS.find((each) => each === backend);
  if (known === undefined) {
    throw invalidArg(
      `unable to find backend library for backend '${backend}' of model '${name}': expected ${BACKENDS.join(' or ')}`,
    );
  }
  if (platform !== '' && known !== 'onnxruntime')
    throw invalidArg(`unexpected 'platform' and 'backend' pair, got:${platform}, ${backend}`);
  return known;
}

function backendByFile(files: readonly string[], name: string): BackendName {
  const isOnnx = files.some((file) => file.endsWith('.onnx'));
  const isModule =
    files.some((file) => /^model\.m?[jt]s$/.test(file)) || (files.length === 1 && /\.m?[jt]s$/.test(files[0]!));
  if (isOnnx && !isModule) return 'onnxruntime';
  if (isModule && !isOnnx) return 'tstriton';
  throw invalidArg(
    isOnnx
      ? `model '${name}' has a file for each of two backends; config.pbtxt must say which: backend: "onnxruntime" or "tstriton"`
      : `model '${name}' must specify 'backend' in config.pbtxt, or have a file model.onnx, model.js or model.ts in the folder of each version`,
  );
}
