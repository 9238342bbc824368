// `instanceGroup` describes instances of a model in threads of their own. `bind` takes it in the place of a callable.

import { invalidArg, TritonError } from '../errors.js';
import { checkMembers, expectInteger, expectObject, textOf } from '../checks/check.js';

const BRAND = Symbol.for('tstriton.InstanceGroup');

/** Limits of an instance's thread, in megabytes; see Node's `worker_threads`. */
export interface ThreadResourceLimits {
  readonly maxOldGenerationSizeMb?: number;
  readonly maxYoungGenerationSizeMb?: number;
  readonly codeRangeSizeMb?: number;
  readonly stackSizeMb?: number;
}

export interface InstanceGroupOptions {
  /** Number of threads; each loads the module itself. Default: the length of `args`, or 1. */
  readonly count?: number;
  /** One entry per thread for the module's `setup`, such as a device. Must survive structured clone. */
  readonly args?: readonly unknown[];
  /** Environment variables in addition to this process's. */
  readonly env?: Readonly<Record<string, string>>;
  /**
   * Node's command-line options for the threads, in place of the process's. Default: the process's own, so that what it preloads
   * with `--import` or `--require` is preloaded in each thread too.
   */
  readonly execArgv?: readonly string[];
  readonly resourceLimits?: ThreadResourceLimits;
}

export interface InstanceGroup {
  /** Of the module, as a `file:` URL. */
  readonly url: string;
  readonly count: number;
  readonly args: readonly unknown[];
  readonly env: Readonly<Record<string, string>>;
  /** Undefined: the process's. */
  readonly execArgv: readonly string[] | undefined;
  readonly resourceLimits: ThreadResourceLimits;
}

const LIMITS = ['maxOldGenerationSizeMb', 'maxYoungGenerationSizeMb', 'codeRangeSizeMb', 'stackSizeMb'] as const;
const MEMBERS = ['count', 'args', 'env', 'execArgv', 'resourceLimits'];

/**
 * Runs a module's callable in threads of their own, one instance each: for models that compute. The module's default
 * export is the callable; it may export `setup(context)` and `teardown()`, both possibly asynchronous. A thread that
 * ends restarts; its requests fail with UNAVAILABLE, and the others go on.
 *
 * @example
 * inferFunc: instanceGroup(new URL('./model.js', import.meta.url), { count: 2 })
 */
export function instanceGroup(module: URL | string, options: InstanceGroupOptions = {}): InstanceGroup {
  const url = String(module);
  if (!url.startsWith('file:')) {
    throw invalidArg(
      `instanceGroup takes a module's file: URL, as new URL('./model.js', import.meta.url) is, got ${url}`,
    );
  }
  const what = `instanceGroup(${url})`;
  checkMembers(options, MEMBERS, what);
  const args = checkArgs(options.args ?? [], what);
  const count = expectInteger(options.count ?? Math.max(1, args.length), 1, 1024, `count of ${what}`);
  if (args.length > 0 && args.length !== count) {
    throw invalidArg(`args of ${what} has ${args.length} entries for ${count} instances, expected one per instance`);
  }
  const env = checkEnv(options.env ?? {}, what);
  const execArgv = options.execArgv === undefined ? undefined : checkExecArgv(options.execArgv, what);
  const resourceLimits = checkLimits(options.resourceLimits ?? {}, what);
  const group: InstanceGroup = { url, count, args, env, execArgv, resourceLimits };
  Object.defineProperty(group, BRAND, { value: true });
  return group;
}

function checkArgs(args: unknown, what: string): readonly unknown[] {
  if (!Array.isArray(args)) throw invalidArg(`args of ${what} must be a list, got ${textOf(args)}`);
  args.forEach((entry: unknown, index) => {
    try {
      structuredClone(entry);
    } catch (error) {
      throw invalidArg(`args[${index}] of ${what} cannot cross into a thread: ${TritonError.from(error).message}`, {
        cause: error,
      });
    }
  });
  return [...args];
}

function checkEnv(env: unknown, what: string): Readonly<Record<string, string>> {
  expectObject(env, `env of ${what}`);
  for (const [name, value] of Object.entries(env)) {
    if (typeof value !== 'string') throw invalidArg(`env.${name} of ${what} must be a string, got ${textOf(value)}`);
  }
  return { ...env };
}

function checkExecArgv(execArgv: unknown, what: string): readonly string[] {
  if (Array.isArray(execArgv) && execArgv.every((flag) => typeof flag === 'string')) return [...execArgv];
  throw invalidArg(`execArgv of ${what} must be a list of strings, got ${textOf(execArgv)}`);
}

function checkLimits(limits: ThreadResourceLimits, what: string): ThreadResourceLimits {
  checkMembers(limits, LIMITS, `resourceLimits of ${what}`);
  for (const limit of LIMITS) {
    const value: unknown = limits[limit];
    if (value === undefined || (typeof value === 'number' && value > 0 && value < Infinity)) continue;
    throw invalidArg(`resourceLimits.${limit} of ${what} must be a number of megabytes above 0, got ${textOf(value)}`);
  }
  return { ...limits };
}

/** True for what {@link instanceGroup} returned, in this or another copy of the package. */
export function isInstanceGroup(value: unknown): value is InstanceGroup {
  return typeof value === 'object' && value !== null && BRAND in value;
}
