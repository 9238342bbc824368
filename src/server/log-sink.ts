// Where the entries of the log go: a file, standard error, or a logger of the user's. Written at once, so that the lines before
// a crash are there.

import { appendFileSync, closeSync, openSync, writeSync } from 'node:fs';

import { invalidArg, TritonError } from '../errors.js';
import { type ExternalLogger, type LogEntry, logLine, type LogSink } from '../logger.js';

/** A sink that is to be closed. */
export interface ClosableLogSink extends LogSink {
  close(): void;
}

/**
 * Hands entries to `onLog`, or appends them to `file`, or writes to standard error when both are undefined. Throws
 * INVALID_ARG when the file cannot be opened.
 */
export function openLogSink(file: string | undefined, onLog?: (entry: LogEntry) => void): ClosableLogSink {
  if (onLog !== undefined) return { write: onLog, close: () => undefined };
  if (file === undefined) return { write: (entry) => writeLine(2, logLine(entry)), close: () => undefined };
  let descriptor: number;
  try {
    descriptor = openSync(file, 'a');
  } catch (error) {
    throw invalidArg(`cannot open the log file ${file}: ${TritonError.from(error).message}`, {
      cause: error,
    });
  }
  let open = true;
  return {
    write: (entry) => {
      if (open) writeLine(descriptor, logLine(entry));
      else appendLine(file, logLine(entry));
    },
    close: () => {
      if (open) closeSync(descriptor);
      open = false;
    },
  };
}

/** What hands entries to a logger, whose failures are not the server's. */
export function writeTo(logger: ExternalLogger | undefined): ((entry: LogEntry) => void) | undefined {
  if (logger === undefined) return undefined;
  return ({ level, message }) => {
    try {
      if (level === 'verbose') logger.debug(message);
      else if (level === 'warning') logger.warn(message);
      else logger[level](message);
    } catch {
      // As below: nobody is there to tell of it.
    }
  };
}

/** What happens after the server has stopped, a `teardown` that fails say, belongs into the log too. */
function appendLine(file: string, line: string): void {
  try {
    appendFileSync(file, line);
  } catch {
    // As below.
  }
}

function writeLine(descriptor: number, line: string): void {
  try {
    writeSync(descriptor, line);
  } catch {
    // A full disk or a reader that went away must not take the server down with it.
  }
}
