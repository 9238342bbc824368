// Writes the model repository that tritonserver is started on: a folder for each bound model. A tritonserver that runs
// already gets the same files with the request to load a model.

import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { TritonError } from '../errors.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import { configFiles, type ModelFiles } from './config-text.js';
import { MODEL_PY } from './model-py.js';

/** Where the instances of a version connect. */
export interface ServedVersion {
  readonly config: CompleteModelConfig;
  /** See InstanceListener. */
  readonly key: string;
}

export class ModelFolders {
  readonly folder: string;
  readonly #address: string;
  readonly #models = new Map<string, Map<number, ServedVersion>>();

  /** `address`: where instances connect. */
  constructor(folder: string, address: string) {
    this.folder = folder;
    this.#address = address;
    mkdirSync(folder);
  }

  /** The versions of a model by their numbers. */
  versions(name: string): ReadonlyMap<number, ServedVersion> {
    return this.#models.get(name) ?? NONE;
  }

  /**
   * Writes a version, in the place of one that is there. Throws UNSUPPORTED for a model that tritonserver cannot serve,
   * INVALID_ARG where versions of a model differ in more than their callables.
   */
  put(served: ServedVersion): void {
    const { config } = served;
    const { name, version } = config;
    const files = configFiles(config);
    expectOneDeclaration(config, this.versions(name).values());
    const folder = join(this.folder, name);
    const write = (file: string, content: Uint8Array | string) => {
      const path = join(folder, file);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, content);
    };
    for (const [file, content] of files) write(file, content);
    for (const [file, content] of versionFiles(served, this.#address)) write(file, content);
    const versions = this.#models.get(name) ?? new Map<number, ServedVersion>();
    this.#models.set(name, versions.set(version, served));
  }

  /** Removes a version, and the model with its last one. Returns whether a version is left. */
  remove({ name, version }: CompleteModelConfig): boolean {
    const versions = this.#models.get(name);
    versions?.delete(version);
    const isLeft = versions !== undefined && versions.size > 0;
    if (!isLeft) this.#models.delete(name);
    rmSync(join(this.folder, name, ...(isLeft ? [String(version)] : [])), { recursive: true, force: true });
    return isLeft;
  }
}

/** The files of a version, by their paths in the model's folder. */
export function versionFiles({ config: { version }, key }: ServedVersion, address: string): ModelFiles {
  return new Map([
    [`${version}/model.py`, MODEL_PY],
    [`${version}/tstriton.json`, JSON.stringify({ address, key })],
  ]);
}

/** Throws INVALID_ARG where other versions of a model differ in more than their callables. */
export function expectOneDeclaration(config: CompleteModelConfig, versions: Iterable<ServedVersion>): void {
  const { name, version } = config;
  const text = configFiles(config).get('config.pbtxt');
  for (const other of versions) {
    if (other.config.version === version || configFiles(other.config).get('config.pbtxt') === text) continue;
    throw new TritonError(
      'INVALID_ARG',
      `version ${version} of model '${name}' differs from version ${other.config.version} in its declaration: tritonserver has one configuration for all versions of a model`,
    );
  }
}

const NONE: ReadonlyMap<number, ServedVersion> = new Map();
