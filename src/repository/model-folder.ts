// The present state of a model's folder: its configuration's text, its versions, and a text that changes with its files. No path
// leaves the repository: links that lead out of it are refused.

import { readdir, readFile, realpath, stat } from 'node:fs/promises';
import { basename, isAbsolute, join, relative, sep } from 'node:path';

import { invalidArg, TritonError } from '../errors.js';

/** A longer file is not a configuration. */
const LARGEST_CONFIG = 1024 * 1024;
/** A folder of more files is none of a model. */
const MOST_FILES = 10_000;
const VERSION = /^[1-9][0-9]*$/;

export interface ModelFolder {
  readonly name: string;
  /** Without links. */
  readonly path: string;
  /** What its paths stay in, without links. */
  readonly repository: string;
  /** The text of config.pbtxt; undefined where there is none. */
  readonly config: string | undefined;
  /** The numbers of the versions that have a folder, ascending. */
  readonly versions: readonly number[];
}

/** Rejects with INVALID_ARG for a folder that is no model's. */
export async function readModelFolder(repository: string, name: string): Promise<ModelFolder> {
  const root = await realpath(repository);
  const path = await pathInside(root, root, name);
  const entries = await readdir(path);
  const config = entries.includes('config.pbtxt')
    ? await readConfig(await pathInside(root, path, 'config.pbtxt'))
    : undefined;
  const versions: number[] = [];
  for (const entry of entries.filter((each) => VERSION.test(each))) {
    const version = Number(entry);
    if (!(await stat(await pathInside(root, path, entry))).isDirectory()) continue;
    if (!Number.isSafeInteger(version))
      throw invalidArg(`version folder '${entry}' of model '${name}' is too large a number`);
    versions.push(version);
  }
  return { name, path, repository: root, config, versions: versions.sort((a, b) => a - b) };
}

async function readConfig(path: string): Promise<string> {
  const { size } = await stat(path);
  if (size > LARGEST_CONFIG) throw failedText(path, `it has ${size} bytes, expected at most ${LARGEST_CONFIG}`);
  const bytes = await readFile(path);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw failedText(path, 'it is not UTF-8');
  }
}

/** The error for a bad file in protobuf's text format, in Triton's words. */
export function failedText(path: string, reason: string): TritonError {
  return invalidArg(`failed to read text proto from ${path}: ${reason}`);
}

/**
 * The path of something in a folder of a repository, without links. Rejects with INVALID_ARG for a name that leads out of the
 * folder, a link that leads out of the repository, and a path that does not exist.
 */
export async function pathInside(repository: string, folder: string, name: string): Promise<string> {
  if (name === '' || isAbsolute(name) || name.includes('\0') || name.split(/[/\\]/).includes('..')) {
    throw invalidArg(`${JSON.stringify(name)} must be a path inside of ${folder}`);
  }
  let path: string;
  try {
    path = await realpath(join(folder, name));
  } catch (error) {
    const { code } = error as { readonly code?: unknown };
    const reason =
      code === 'ENOENT' || code === 'ENOTDIR' ? 'there is no such file or folder' : TritonError.from(error).message;
    throw invalidArg(`cannot read ${join(folder, name)}: ${reason}`, { cause: error });
  }
  if (isInside(path, repository)) return path;
  throw invalidArg(`${join(folder, name)} is a link that leads out of the model repository ${repository}`);
}

function isInside(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return way === '' || (way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way));
}

/** What changes with a model's files: texts that are equal as long as nothing was changed. */
export interface FolderState {
  /** Of everything but the versions. */
  readonly model: string;
  /** Of each version's files. */
  readonly versions: ReadonlyMap<number, string>;
}

/** Rejects with INVALID_ARG for a folder of too many files. */
export async function stateOf({ path, versions, name }: ModelFolder): Promise<FolderState> {
  const counted = { left: MOST_FILES, name };
  const own = new Map<number, string>();
  for (const version of versions) own.set(version, await treeState(join(path, String(version)), counted));
  const others = (await readdir(path)).filter((entry) => !VERSION.test(entry)).sort();
  const lines: string[] = [];
  for (const entry of others) lines.push(await treeState(join(path, entry), counted));
  return { model: lines.join('\n'), versions: own };
}

/** `around`: the folders that it lies in; a link back to one of them has nothing new. */
async function treeState(
  path: string,
  counted: { left: number; readonly name: string },
  around: readonly string[] = [],
): Promise<string> {
  if (--counted.left < 0) throw invalidArg(`the folder of model '${counted.name}' has more than ${MOST_FILES} files`);
  const stats = await stat(path).catch(() => undefined);
  if (stats === undefined) return `${basename(path)} is gone`;
  const place = `${stats.dev}:${stats.ino}`;
  if (around.includes(place)) return `${basename(path)} lies around it`;
  if (!stats.isDirectory()) return [basename(path), stats.size, stats.mtimeMs, stats.ino].join(' ');
  // Installed packages are as they are.
  const entries = (await readdir(path)).filter((entry) => entry !== 'node_modules').sort();
  const lines: string[] = [];
  for (const entry of entries) lines.push(await treeState(join(path, entry), counted, [...around, place]));
  return `${basename(path)} {\n${lines.join('\n')}\n}`;
}
