// The models of files, as a server would serve them: an ONNX file, the folder of a model, or a model repository of such folders.

import { existsSync, readdirSync, statSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';

import { invalidArg, TritonError } from '../errors.js';
import { completeSignature } from '../model/complete-signature.js';
import type { ModelSpec } from '../model/callable.js';
import { onnx } from '../onnx/onnx.js';
import { readFolderModel } from '../repository/folder-model.js';
import { modelNamesIn } from '../repository/model-names.js';
import { readWantedModel } from '../repository/wanted-model.js';
import type { DescribeOptions } from './describe-model.js';
import type { DescribedModel } from './generate-module.js';

/**
 * Whether the source is no server: a file or a folder. A URL may do without its scheme. Throws INVALID_ARG for a file of another
 * kind.
 */
export function isPath(source: string): boolean {
  if (source.includes('://')) return false;
  if (/\.[cm]?[jt]s$/.test(source)) {
    throw invalidArg(`${source} is a module, expected a server, an .onnx file or a folder: import its declaration`);
  }
  if (/\.onnx$/i.test(source)) return true;
  const isFolder = existsSync(source) && statSync(source).isDirectory();
  // No host begins so.
  if (!isFolder && /^[./~]/.test(source))
    throw invalidArg(`there is no folder ${source}, expected a server, an .onnx file or a folder`);
  return isFolder;
}

/** `names`: the models to describe; none for all. Rejects with INVALID_ARG. */
export async function describeFiles(
  source: string,
  names: readonly string[],
  options: DescribeOptions,
): Promise<readonly DescribedModel[]> {
  const path = resolve(source);
  if (/\.onnx$/i.test(path) && !(existsSync(path) && statSync(path).isDirectory())) {
    if (names.length > 1) throw invalidArg(`${source} is one model, expected one --model at most, got ${names.length}`);
    const [modelName] = names;
    return [described(onnx(path, modelName === undefined ? {} : { modelName }) as ModelSpec, options)];
  }
  const isModel = isModelFolder(path);
  const repository = isModel ? dirname(path) : path;
  const known = isModel ? [basename(path)] : modelNamesIn(repository);
  if (known.length === 0) throw invalidArg(`${source} has no models: expected a folder for each`);
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) throw invalidArg(`${source} has no model '${unknown}', it has ${known.join(', ')}`);
  const models: DescribedModel[] = [];
  for (const name of names.length > 0 ? names : known) models.push(await describeFolder(repository, name, options));
  return models;
}

/** The folder of a model has its configuration, or a folder for each version. */
function isModelFolder(path: string): boolean {
  return readdirSync(path).some((entry) => entry === 'config.pbtxt' || /^[1-9][0-9]*$/.test(entry));
}

async function describeFolder(repository: string, name: string, options: DescribeOptions): Promise<DescribedModel> {
  try {
    const { folder, written, states } = await readWantedModel(name, [repository], undefined);
    const versions = [...states.keys()];
    const version = options.modelVersion ?? Math.max(...versions);
    if (!versions.includes(version)) {
      const served = versions.length === 0 ? 'it has none to serve' : `it serves ${versions.join(', ')}`;
      throw invalidArg(`there is no version ${options.modelVersion ?? ''}: ${served}`.replace(' :', ':'));
    }
    const { model } = await readFolderModel(folder, written, {
      version,
      isStrict: false,
      isGiven: false,
      signal: new AbortController().signal,
    });
    return described(model as ModelSpec, options);
  } catch (error) {
    throw invalidArg(`model '${name}' of ${repository}: ${TritonError.from(error).message}`, { cause: error });
  }
}

function described(model: ModelSpec, { modelVersion, bytesAs }: DescribeOptions): DescribedModel {
  const { name, inputs, outputs, batching, maxBatchSize, decoupled } = completeSignature(model);
  const asWanted = (specs: typeof inputs) =>
    bytesAs === 'bytes' ? specs.map((spec) => (spec.dtype === 'string' ? { ...spec, dtype: bytesAs } : spec)) : specs;
  return {
    name,
    version: modelVersion,
    source: 'file',
    inputs: asWanted(inputs),
    outputs: asWanted(outputs),
    maxBatchSize: batching ? maxBatchSize : 0,
    decoupled,
  };
}
