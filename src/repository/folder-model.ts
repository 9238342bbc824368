// One version of a model in a repository, ready to be bound: what its configuration and its files come to.

import { readFile, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';

import { invalidArg } from '../errors.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import type { OpenAiEndpoint } from '../model/openai.js';
import { OPENAI } from '../protocol/model-config-json.js';
import { isClassified } from '../tensor/dtype.js';
import { dtypeOfConfig } from '../protocol/model-signature.js';
import { type BackendName, chooseBackend } from './backend.js';
import { codeRefused } from './given-files.js';
import { type ModelFolder, pathInside } from './model-folder.js';
import { moduleModel } from './module-model.js';
import { onnxFileModel } from './onnx-file-model.js';
import { readSequenceBatching } from './read-sequence-batching.js';
import type { ReadModel, VersionFiles, VersionModel } from './version-model.js';
import { fileConfigOf, type WrittenConfig } from './written-config.js';

export interface FolderModel {
  readonly model: VersionModel;
  /** What the configuration says beside what `model` does. */
  readonly more: Pick<CompleteModelConfig, 'parameters' | 'file'>;
}

const MODELS: Readonly<
  Record<BackendName, (written: WrittenConfig, files: VersionFiles) => ReadModel | Promise<ReadModel>>
> = {
  onnxruntime: onnxFileModel,
  tstriton: async (written, files) => ({ model: await moduleModel(written, files) }),
};
/** The name that a configuration may give instead of a backend's. */
const PLATFORMS: Readonly<Record<BackendName, string>> = { onnxruntime: 'onnxruntime_onnx', tstriton: '' };

type ReadOptions = Pick<VersionFiles, 'version' | 'isStrict' | 'isGiven' | 'signal'>;

/** Rejects with INVALID_ARG, or what the module of the model fails with. */
export async function readFolderModel(
  folder: ModelFolder,
  written: WrittenConfig,
  { version, isStrict, isGiven, signal }: ReadOptions,
): Promise<FolderModel> {
  const { backend, path } = await chooseBackend(folder, written, version);
  // Whatever the name of the file that it would be.
  if (isGiven && backend === 'tstriton') throw codeRefused(`backend: "tstriton" of model '${folder.name}'`);
  const warmups = new Map<string, string>();
  for (const file of inputFiles(written)) {
    // As Triton has it.
    warmups.set(file, await pathInside(folder.repository, join(folder.path, 'warmup'), file));
  }
  const files: VersionFiles = {
    version,
    path,
    findInputFile: (file) => warmups.get(file)!,
    labels: await readLabels(folder, written),
    isStrict,
    isGiven,
    signal,
  };
  const sequenceBatching = await readSequenceBatching(folder, written);
  const { model, reshapedScalars = [] } = await MODELS[backend]({ ...written, sequenceBatching }, files);
  const openai = written.parameters[OPENAI] as OpenAiEndpoint | undefined;
  return {
    // The binding checks its value.
    model: openai === undefined ? model : { ...model, openai },
    more: {
      parameters: written.parameters,
      file: fileConfigOf(written, { backend, platform: PLATFORMS[backend], filename: basename(path), reshapedScalars }),
    },
  };
}

function inputFiles({ json }: WrittenConfig): readonly string[] {
  const inputs = json.model_warmup.flatMap((warmup) => Object.values(warmup.inputs));
  return inputs.flatMap(({ input_data_file: file }) => (file === undefined ? [] : [file]));
}

/** A label to a line. Rejects with INVALID_ARG for a file that is not there. */
async function readLabels(
  folder: ModelFolder,
  { json }: WrittenConfig,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const labels = new Map<string, readonly string[]>();
  for (const { name, label_filename: file = '', data_type: dataType } of json.output) {
    if (file === '') continue;
    const path = await pathInside(folder.repository, folder.path, file);
    if (!(await stat(path)).isFile()) throw invalidArg(`the label_filename ${path} is no file`);
    const lines = (await readFile(path, 'utf8')).split('\n').map((line) => line.replace(/\r$/, ''));
    if (lines.at(-1) === '') lines.pop();
    // Nobody can ask for classes of others.
    if (isClassified(dtypeOfConfig(dataType))) labels.set(name, lines);
  }
  return labels;
}
