// What the models for text have in common: their options, and the callable around the user's function.

import { checkMembers } from '../checks/check.js';
import { invalidArg } from '../errors.js';
import type { Awaitable } from '../model/awaitable.js';
import type { ModelConfig } from '../model/model-config.js';
import type { SetupContext } from '../model/run-setup.js';

/** Each request runs alone, as a stream. */
export type GenerationConfig = Pick<
  ModelConfig<true>,
  'batcher' | 'concurrency' | 'executionTimeoutMicroseconds' | 'versionPolicy'
>;

/** The options that all helpers take, as `bind` does. */
export interface OpenAiModelOptions<Config> {
  readonly modelName: string;
  readonly modelVersion?: number;
  /** What the model does, for people. */
  readonly description?: string;
  readonly config?: Config;
  readonly setup?: (context: SetupContext) => Awaitable<void>;
  readonly teardown?: () => Awaitable<void>;
}

const MEMBERS = ['modelName', 'modelVersion', 'description', 'config', 'setup', 'teardown'];

/** Throws INVALID_ARG for unknown options, and where the function is none. Returns the options for `bind`. */
export function boundOptions<Config>(
  options: OpenAiModelOptions<Config>,
  { helper, own }: { readonly helper: string; readonly own: readonly string[] },
): Omit<OpenAiModelOptions<Config>, 'config'> {
  checkMembers(options, [...MEMBERS, ...own], `the argument of ${helper}`);
  const [method = ''] = own;
  const given = (options as unknown as Readonly<Record<string, unknown>>)[method];
  if (typeof given !== 'function') throw invalidArg(`${helper} needs '${method}', a function, got ${typeof given}`);
  const { modelName, modelVersion, description, setup, teardown } = options;
  return {
    modelName,
    ...(modelVersion !== undefined && { modelVersion }),
    ...(description !== undefined && { description }),
    ...(setup !== undefined && { setup: setup.bind(options) }),
    ...(teardown !== undefined && { teardown: teardown.bind(options) }),
  };
}
