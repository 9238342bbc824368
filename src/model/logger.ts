/** The server's log, as callables and the engine write to it. */
export interface Logger {
  error(message: string): void;
  warn(message: string): void;
  info(message: string): void;
  /** Written only when the server logs verbosely up to `level`. */
  verbose(level: number, message: string): void;
}
