// The log as one instance of a model writes to it: its lines say whose they are.

import type { CompleteModelConfig } from './complete-model-config.js';
import type { Logger } from './logger.js';

/** `instance` is its number within the model. */
export function instanceLogger(
  logger: Logger,
  { name, version }: Pick<CompleteModelConfig, 'name' | 'version'>,
  instance: number,
): Logger {
  const model = version === 1 ? `model '${name}'` : `model '${name}' version ${version}`;
  const named = (message: string) => `instance ${instance} of ${model}: ${message}`;
  return {
    error: (message) => logger.error(named(message)),
    warn: (message) => logger.warn(named(message)),
    info: (message) => logger.info(named(message)),
    verbose: (level, message) => logger.verbose(level, named(message)),
  };
}
