// Where log lines go: a file, or standard error. Written at once, so that the lines before a crash are there.

import { appendFileSync, closeSync, openSync, writeSync } from 'node:fs';

import { invalidArg, TritonError } from '../errors.js';
import type { LogSink } from '../logger.js';

/** A sink that is to be closed. */
export interface ClosableLogSink extends LogSink {
  close(): void;
}

/** Appends to `file`, or writes to standard error when undefined. Throws INVALID_ARG when the file cannot be opened. */
export function openLogSink(file: string | undefined): ClosableLogSink {
  if (file === undefined) return { write: (line) => writeLine(2, line), close: () => undefined };
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
    write: (line) => {
      if (open) writeLine(descriptor, line);
      else appendLine(file, line);
    },
    close: () => {
      if (open) closeSync(descriptor);
      open = false;
    },
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
