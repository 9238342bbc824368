// Callables and the engine write to the server's log through `Logger`. The lines of an instance name it.

/** The server's log, as callables and the engine write to it. */
export interface Logger {
  error(message: string): void;
  warn(message: string): void;
  info(message: string): void;
  /** Written only when the server logs verbosely up to `level`. */
  verbose(level: number, message: string): void;
}

/** `instance` is its number within the model. */
export function instanceLogger(
  logger: Logger,
  { name, version }: Pick<{ readonly name: string; readonly version: number }, 'name' | 'version'>,
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
