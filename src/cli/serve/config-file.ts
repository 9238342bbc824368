// The configuration file of `tstriton serve`: the options of `new Triton()`, and the files of the models.

import { existsSync, readFileSync } from 'node:fs';
import { basename, dirname, extname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

import type { TritonConfig } from '../../config/generated/triton-config.js';
import { checkGiven, definedOf } from '../../config/read-triton-config.js';
import { readEnvironment, type Environment } from '../../config/read-environment.js';
import { invalidArg, TritonError } from '../../errors.js';
import { importModule } from '../../host/import-module.js';
import { runningTsx } from '../../host/running-tsx.js';
import { asUsage } from '../arguments.js';
import { loadFailure } from './load-failure.js';

const EXTENSIONS = ['.ts', '.mts', '.js', '.mjs', '.json'] as const;

export interface ConfigFile {
  readonly options: TritonConfig;
  /** Absolute paths of what to serve when the command names nothing. */
  readonly models: readonly string[];
}

const NOTHING: ConfigFile = { options: {}, models: [] };

/**
 * Reads the file that is named, else the one `tstriton.config.*` of the folder, if there is one. Rejects with INVALID_ARG or UNSUPPORTED
 * naming the file, the mistake in it and the expected form.
 */
export async function readConfigFile(named: string | undefined, folder: string): Promise<ConfigFile> {
  const path = named === undefined ? findConfigFile(folder) : resolve(folder, named);
  if (path === undefined) return NOTHING;
  const file = basename(path);
  if (!existsSync(path)) throw invalidArg(`there is no configuration file ${named}`);
  if (!(EXTENSIONS as readonly string[]).includes(extname(path))) {
    throw invalidArg(`the configuration file ${file} must end with ${EXTENSIONS.join(', ')}`);
  }
  const content = extname(path) === '.json' ? readJson(path, file) : await readModule(path, file);
  return asUsage(() => checkConfig(content, path));
}

/** Throws INVALID_ARG when there are several. */
function findConfigFile(folder: string): string | undefined {
  const found = EXTENSIONS.map((extension) => `tstriton.config${extension}`).filter((name) =>
    existsSync(join(folder, name)),
  );
  if (found.length > 1) throw invalidArg(`expected one configuration file, got ${found.join(' and ')}`);
  return found[0] === undefined ? undefined : join(folder, found[0]);
}

function readJson(path: string, file: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as unknown;
  } catch (error) {
    throw invalidArg(`${file} is no JSON: ${TritonError.from(error).message}`, { cause: error });
  }
}

async function readModule(path: string, file: string): Promise<unknown> {
  const url = pathToFileURL(path).href;
  const exported = await importModule(url, runningTsx()).catch(async (error: unknown) => {
    throw await loadFailure(error, { file: path, url });
  });
  if (exported['default'] === undefined) throw invalidArg(`${file} must export its options as default`);
  return exported['default'];
}

function checkConfig(content: unknown, path: string): ConfigFile {
  const file = basename(path);
  if (typeof content !== 'object' || content === null || !('models' in content)) {
    checkGiven(content, file, ` of ${file}`);
    return { options: definedOf(content as TritonConfig), models: [] };
  }
  const { models, ...options } = content;
  checkGiven(options, file, ` of ${file}`);
  if (!Array.isArray(models) || !models.every((model) => typeof model === 'string' && model !== '')) {
    throw invalidArg(`models of ${file} must be a list of files`);
  }
  return { options: definedOf(options), models: models.map((model: string) => resolve(dirname(path), model)) };
}

/** Flags count before the environment, the environment before the file. Throws as `readEnvironment` does. */
export function mergeOptions(flags: TritonConfig, environment: Environment, file: TritonConfig): TritonConfig {
  return { ...file, ...readEnvironment(environment).values, ...flags };
}
