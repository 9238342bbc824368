// Writes the entries of the log to a file, to standard error, or to the user's logger. It writes at once, so that no
// line before a crash is lost.

import { appendFileSync, closeSync, openSync, writeSync } from 'node:fs';

import { invalidArg, TritonError } from '../errors.js';
import { type ExternalLogger, type LogEntry, logLine, type LogSink } from '../logger.js';

/** A sink that must be closed. */
export interface ClosableLogSink extends LogSink {
  close(): void;
}

/**
 * Hands entries to `onLog`, or appends them to `file`, or writes to standard error when both are undefined. Throws
 * INVALID_ARG when the file cannot be opened.
 */
export function openLogSink(file: string | undefined, onLog?: (entry: LogEntry) => void): ClosableLogSink {
  if (onLog !== undefined) return { write: onLog, close: () => undefined };
  if (file === undefined) return new DescriptorSink(2, 'standard error');
  let descriptor: number;
  try {
    descriptor = openSync(file, 'a');
  } catch (error) {
    throw invalidArg(`cannot open the log file ${file}: ${TritonError.from(error).message}`, {
      cause: error,
    });
  }
  const sink = new DescriptorSink(descriptor, `the log file ${file}`);
  let open = true;
  return {
    write: (entry) => {
      if (open) sink.write(entry);
      else appendLine(file, logLine(entry));
    },
    close: () => {
      if (open) closeSync(descriptor);
      open = false;
    },
  };
}

/** Writes lines to a file or a pipe. What that does not take, because it is full or nobody reads it, is counted and told later. */
export class DescriptorSink implements ClosableLogSink {
  readonly #descriptor: number;
  readonly #name: string;
  readonly #writeSync: typeof writeSync;
  #lost = 0;
  /** The end of a line of which a pipe has taken the beginning. */
  #rest: Buffer | undefined;

  /** `name`: of the file or the pipe, for readers of the log. `write`: for tests. */
  constructor(descriptor: number, name: string, write = writeSync) {
    this.#descriptor = descriptor;
    this.#name = name;
    this.#writeSync = write;
  }

  write(entry: LogEntry): void {
    if (this.#rest !== undefined && !this.#take(this.#rest)) {
      this.#lost++;
      return;
    }
    if (this.#lost > 0) {
      const message = `lines of the log were lost because ${this.#name} could not take them: ${this.#lost}`;
      if (!this.#take(Buffer.from(logLine({ level: 'warning', message, format: entry.format })))) {
        this.#lost++;
        return;
      }
      this.#lost = 0;
    }
    if (!this.#take(Buffer.from(logLine(entry)))) this.#lost++;
  }

  close(): void {}

  /** False: nothing of it was written. A full disk or a reader that went away must not take the server down with it. */
  #take(bytes: Buffer): boolean {
    try {
      const written = this.#writeSync(this.#descriptor, bytes);
      this.#rest = written < bytes.length ? bytes.subarray(written) : undefined;
      return true;
    } catch {
      return false;
    }
  }
}

/** A function that gives entries to a logger. A failing logger does not fail the server. */
export function writeTo(logger: ExternalLogger | undefined): ((entry: LogEntry) => void) | undefined {
  if (logger === undefined) return undefined;
  return ({ level, message }) => {
    try {
      if (level === 'verbose') logger.debug(message);
      else if (level === 'warning') logger.warn(message);
      else logger[level](message);
    } catch {
      // A failing log has nowhere to report it.
    }
  };
}

/** Appends a line to the file, also after the server's stop, for example about a failed `teardown`. */
function appendLine(file: string, line: string): void {
  try {
    appendFileSync(file, line);
  } catch {
    // A failing log has nowhere to report it.
  }
}
