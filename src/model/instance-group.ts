// Instances of a model in threads of their own: a description that `bind` takes where it takes callables.

import { TritonError } from '../errors.js';
import { checkMembers, expectInteger } from './check.js';

const BRAND = Symbol.for('tstriton.InstanceGroup');

/** Limits of an instance's thread, in megabytes; see Node's `worker_threads`. */
export interface ThreadResourceLimits {
  readonly maxOldGenerationSizeMb?: number;
  readonly maxYoungGenerationSizeMb?: number;
  readonly codeRangeSizeMb?: number;
  readonly stackSizeMb?: number;
}

export interface InstanceGroupOptions {
  /** Number of threads, each with the module loaded anew. Default: as many as `args`, or 1. */
  readonly count?: number;
  /** One entry per thread, handed to the module's `setup`: a device, say. Must survive structured clone. */
  readonly args?: readonly unknown[];
  /** Environment variables beside those of this process. */
  readonly env?: Readonly<Record<string, string>>;
  /** Node's command-line options for the threads. */
  readonly execArgv?: readonly string[];
  readonly resourceLimits?: ThreadResourceLimits;
}

export interface InstanceGroup {
  /** Of the module, as a `file:` URL. */
  readonly url: string;
  readonly count: number;
  readonly args: readonly unknown[];
  readonly env: Readonly<Record<string, string>>;
  readonly execArgv: readonly string[];
  readonly resourceLimits: ThreadResourceLimits;
}

const MEMBERS = ['count', 'args', 'env', 'execArgv', 'resourceLimits'];

/**
 * Runs a module's callable in threads of their own, one instance each: for models that compute. The module's
 * default export is the callable; it may export `setup(context)` and `teardown()`, both possibly asynchronous.
 * A thread that ends is started again; its requests fail with UNAVAILABLE, the others go on.
 *
 * @example
 * inferFunc: instanceGroup(new URL('./model.js', import.meta.url), { count: 2 })
 */
export function instanceGroup(module: URL | string, options: InstanceGroupOptions = {}): InstanceGroup {
  const url = String(module);
  if (!url.startsWith('file:')) {
    throw new TritonError(
      'INVALID_ARG',
      `instanceGroup takes a module's file: URL, as new URL('./model.js', import.meta.url) is, got ${url}`,
    );
  }
  const what = `instanceGroup(${url})`;
  checkMembers(options, MEMBERS, what);
  const args = options.args ?? [];
  const count = expectInteger(options.count ?? Math.max(1, args.length), 1, 1024, `count of ${what}`);
  if (args.length > 0 && args.length !== count) {
    throw new TritonError(
      'INVALID_ARG',
      `args of ${what} has ${args.length} entries for ${count} instances, expected one per instance`,
    );
  }
  const { env = {}, execArgv = [], resourceLimits = {} } = options;
  const group: InstanceGroup = { url, count, args, env, execArgv, resourceLimits };
  Object.defineProperty(group, BRAND, { value: true });
  return group;
}

/** True for what {@link instanceGroup} returned, in this or another copy of the package. */
export function isInstanceGroup(value: unknown): value is InstanceGroup {
  return typeof value === 'object' && value !== null && BRAND in value;
}
