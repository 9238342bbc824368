// The sequence batcher of a model in a repository, with the files that its states begin with.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { invalidArg } from '../errors.js';
import type { SequenceBatching } from '../model/sequence-batching.js';
import { dtypeOfConfig } from '../protocol/model-signature.js';
import { type InitialStateJson, sequenceBatchingOf } from '../protocol/sequence-batching-json.js';
import { type Dtype, DTYPES, isBytesDtype } from '../tensor/dtype.js';
import { decodeRaw } from '../tensor/raw.js';
import { elementCount } from '../tensor/shape.js';
import { Tensor } from '../tensor/tensor.js';
import { type ModelFolder, pathInside } from './model-folder.js';
import type { WrittenConfig } from './written-config.js';

/** Undefined where the configuration has none. Rejects with INVALID_ARG. */
export async function readSequenceBatching(
  folder: ModelFolder,
  { json, name }: WrittenConfig,
): Promise<SequenceBatching | undefined> {
  const { sequence_batching: batching } = json;
  if (batching === undefined) return undefined;
  const files = new Map<string, Uint8Array>();
  for (const { initial_state: initials } of batching.state) {
    for (const { data_file: file } of initials) {
      if (file !== undefined) files.set(file, await readInitialState(folder, file));
    }
  }
  return sequenceBatchingOf(batching, `model '${name}'`, (initial) => tensorOf(initial, files));
}

async function readInitialState(folder: ModelFolder, file: string): Promise<Uint8Array> {
  const path = await pathInside(folder.repository, join(folder.path, 'initial_state'), file);
  return readFile(path).catch((error: unknown) => {
    throw invalidArg(`failed to open text file for read ${path}`, { cause: error });
  });
}

/** Zeros, whatever `zero_data` says, or the beginning of a file. */
function tensorOf(initial: InitialStateJson, files: ReadonlyMap<string, Uint8Array>): Tensor {
  const shape = initial.dims.map((dim) => Math.max(1, Number(dim)));
  const dtype = dtypeOfConfig(initial.data_type);
  const bytes = initial.data_file === undefined ? undefined : files.get(initial.data_file)!;
  if (isBytesDtype(dtype)) {
    const empty = () => Array.from({ length: elementCount(shape) }, () => new Uint8Array());
    return new Tensor('bytes', bytes === undefined ? empty() : decodeRaw('bytes', bytes), shape);
  }
  const length = elementCount(shape) * byteSizeOf(dtype);
  if (bytes !== undefined && bytes.length < length) {
    throw invalidArg(
      `initial_state setting expects ${length} bytes, but the data provided from ${initial.data_file} has ${bytes.length} bytes.`,
    );
  }
  return new Tensor(dtype, decodeRaw(dtype, bytes?.slice(0, length) ?? new Uint8Array(length)), shape);
}

function byteSizeOf(dtype: Dtype): number {
  return (DTYPES[dtype] as { readonly byteSize: number }).byteSize;
}
