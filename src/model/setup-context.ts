// What `setup` gets, before an instance takes its first batch.

import type { Logger } from './logger.js';
import type { CompleteModelConfig } from './complete-model-config.js';

export interface SetupContext {
  readonly modelName: string;
  readonly modelVersion: number;
  readonly modelConfig: CompleteModelConfig;
  /** Number of the instance within the model, from 0. */
  readonly instance: number;
  /** The instance's own entry of its group's `args`; undefined where there is none. */
  readonly args: unknown;
  readonly logger: Logger;
}
