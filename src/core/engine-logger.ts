// The log as the engine uses it; and the logging extension, which reads and changes what the log lets through.

import type { LogSettings, ServerLogger } from '../logger.js';
import type { Logger } from '../observability/logger.js';

export interface EngineLogger extends Logger {
  /** Verbose lines above this level are not written, so they need not be made. Default 0. */
  readonly verboseLevel?: number;
}

/** Writes nothing. */
export const SILENT: EngineLogger = {
  error: () => undefined,
  warn: () => undefined,
  info: () => undefined,
  verbose: () => undefined,
};

// The logging extension: reads and changes what the server's log lets through. The file is fixed when the server starts.

export class LogSettingsStore {
  /** Where the log goes; '' for standard error. */
  readonly file: string;
  readonly #logger: Pick<ServerLogger, 'settings' | 'configure'>;
  readonly #onChange: (settings: LogSettings) => void;

  /** `onChange` gets the new settings, for logs in other threads. */
  constructor(
    logger: Pick<ServerLogger, 'settings' | 'configure'>,
    file: string,
    onChange: (settings: LogSettings) => void,
  ) {
    this.#logger = logger;
    this.file = file;
    this.#onChange = onChange;
  }

  get(): LogSettings {
    return this.#logger.settings;
  }

  /** Changes the given settings, and returns all of them. */
  update(settings: Partial<LogSettings>): LogSettings {
    if (Object.keys(settings).length > 0) {
      this.#logger.configure(settings);
      this.#onChange(this.#logger.settings);
    }
    return this.#logger.settings;
  }
}
