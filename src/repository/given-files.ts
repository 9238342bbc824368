// The files of a model that a client gives for a load, `file:1/model.onnx`. They go into a folder of their own, which is the
// model's for that load, as in Triton. Code is not taken over the wire.

import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, sep } from 'node:path';

import { invalidArg, TritonError } from '../errors.js';
import { checkModelName } from '../model/complete-signature.js';

const PREFIX = 'file:';
/** Parts of a path: none of them leads anywhere else. */
const PART = /^[A-Za-z0-9_-][A-Za-z0-9._-]*$/;
/** What the server would run. */
const CODE = /\.([cm]?[jt]sx?|json|node|wasm|so|dll|dylib)$/i;

export class GivenFiles {
  /** The folder that the model's folder lies in. */
  readonly repository: string;

  private constructor(repository: string) {
    this.repository = repository;
  }

  /** Rejects with INVALID_ARG for paths that are none of a model's, and UNSUPPORTED for code. */
  static async write(
    name: string,
    files: Readonly<Record<string, Uint8Array | undefined>>,
    config: string | undefined,
  ): Promise<GivenFiles> {
    if (config === undefined) {
      // The files stand for the whole folder.
      throw invalidArg("Load parameter 'config' must be specified for model file override");
    }
    checkModelName(name);
    const contents = Object.entries(files).map(
      ([parameter, content]) => [pathOf(parameter), bytesOf(parameter, content)] as const,
    );
    const given = new GivenFiles(await realpath(await mkdtemp(join(tmpdir(), 'tstriton-model-'))));
    try {
      const folder = join(given.repository, name);
      await mkdir(folder);
      for (const [parts, content] of contents) {
        const path = join(folder, ...parts);
        await mkdir(dirname(path), { recursive: true });
        await writeFile(path, content);
      }
      return given;
    } catch (error) {
      await given.remove();
      const { code, message } = given.told(error);
      // The names are the client's.
      const isTheirs = (error as NodeJS.ErrnoException).code === 'ENAMETOOLONG';
      throw new TritonError(isTheirs ? 'INVALID_ARG' : code, message, { cause: error });
    }
  }

  /** What went wrong with these files, for the client, whose paths begin with the model's name. */
  told(thrown: unknown): TritonError {
    const { code, message } = TritonError.from(thrown);
    return new TritonError(code, message.replaceAll(this.repository + sep, ''), { cause: thrown });
  }

  async remove(): Promise<void> {
    await rm(this.repository, { recursive: true, force: true });
  }
}

function pathOf(parameter: string): readonly string[] {
  const path = parameter.slice(PREFIX.length);
  const parts = path.split('/');
  if (!parts.every((part) => PART.test(part)) || parts.length > 8)
    throw invalidArg(
      `Invalid file parameter '${parameter}' must stay within model directory, as file:1/model.onnx does`,
    );
  if (!CODE.test(path)) return parts;
  throw codeRefused(`load parameter '${parameter}'`);
}

export function codeRefused(what: string): TritonError {
  return new TritonError('UNSUPPORTED', `${what} is not supported: the server runs no code that a client sends`);
}

function bytesOf(parameter: string, content: Uint8Array | undefined): Uint8Array {
  if (content !== undefined) return content;
  throw invalidArg(`load parameter '${parameter}' must be the bytes of a file in base64`);
}
