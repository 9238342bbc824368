// Runs the `setup` of a model's instance. Its error names the instance.

import { TritonError, TritonUnrecoverableError } from '../errors.js';
import type { Awaitable } from './awaitable.js';
import type { CompleteModelConfig } from './complete-model-config.js';
import type { Logger } from '../observability/logger.js';
import { lossOf, lossText } from './lost-object.js';

/** The argument of `setup`, which runs before an instance takes its first batch. */
export interface SetupContext {
  readonly modelName: string;
  readonly modelVersion: number;
  readonly modelConfig: CompleteModelConfig;
  /** Number of the instance within the model, from 0. */
  readonly instance: number;
  /** The instance's own entry of its group's `args`; undefined where there is none. */
  readonly args: unknown;
  readonly logger: Logger;
  /**
   * Fires when the server stops before `setup` has ended, or the model is unbound, unloaded or bound anew. Nothing waits long for a
   * `setup` that goes on.
   */
  readonly signal: AbortSignal;
}

/** Makes the argument of an instance's `setup`. */
export function setupContext(
  modelConfig: CompleteModelConfig,
  own: Pick<SetupContext, 'instance' | 'args' | 'logger' | 'signal'>,
): SetupContext {
  const { name: modelName, version: modelVersion } = modelConfig;
  return { modelName, modelVersion, modelConfig, ...own };
}

/** For how long a stop waits for `teardown`, in milliseconds. */
export const TEARDOWN_GRACE = 5000;

export type Setup = (context: SetupContext) => Awaitable<void>;

/**
 * `module` is the URL of the module that the instance's thread runs; undefined for callables of the thread where models
 * are bound. Rejects with the error's own code and class.
 */
export async function runSetup(setup: Setup | undefined, context: SetupContext, module?: string): Promise<void> {
  try {
    await setup?.(context);
  } catch (thrown) {
    const error = TritonError.from(thrown);
    // An error that already names the model stays unchanged.
    if (error === thrown && error.message.includes(`model '${context.modelName}'`)) throw error;
    const { code, message, cause } = error;
    const loss = lossOf(thrown, setup);
    const hint =
      loss === undefined ? '' : `: ${lossText(loss, setup!.name)}. Give (context) => object.${setup!.name}(context)`;
    const text = `setup of ${whatIsSetUp(context, module)} failed: ${message}${hint}`;
    const options = { cause: TritonError.is(thrown) ? (cause ?? thrown) : thrown };
    throw TritonUnrecoverableError.is(thrown)
      ? new TritonUnrecoverableError(text, options)
      : new TritonError(code, text, options);
  }
}

// Clients may see why a model did not load, but not where its files are.
function whatIsSetUp({ modelName, instance }: SetupContext, module: string | undefined): string {
  const file = module?.split('/').at(-1);
  return file === undefined ? `model '${modelName}'` : `instance ${instance} of model '${modelName}' (${file})`;
}
