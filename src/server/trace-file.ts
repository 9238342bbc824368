// Writes the trace file: a JSON array of entries, complete after every write, or one file for every N traces. It writes
// once for each turn of the event loop; Triton writes its single file at its exit.

import { closeSync, openSync, writeFileSync, writeSync } from 'node:fs';

import type { FileRecord, TraceEntry } from '../core/file-trace.js';
import { invalidArg, TritonError } from '../errors.js';

interface Log {
  warn(message: string): void;
}

export class TraceFile {
  readonly #path: string;
  readonly #log: Log;
  #descriptor: number | undefined;
  /** The position of the array's closing bracket. */
  #end = 0;
  /** The count of numbered files. */
  #files = 0;
  #waiting: FileRecord[] = [];
  #failed = false;

  /** Throws INVALID_ARG when the file cannot be written. */
  constructor(path: string, log: Log) {
    this.#path = path;
    this.#log = log;
    try {
      this.#descriptor = openSync(path, 'w');
    } catch (error) {
      throw invalidArg(`cannot open the trace file ${path}: ${TritonError.from(error).message}`, { cause: error });
    }
    this.#tried(() => (this.#end = writeSync(this.#descriptor!, '[]', 0) - 1));
  }

  add(records: readonly FileRecord[]): void {
    const entries: TraceEntry[] = [];
    for (const record of records) {
      if (record.logFrequency === 0) {
        entries.push(...record.entries);
        continue;
      }
      this.#waiting.push(record);
      if (this.#waiting.length >= record.logFrequency) this.#writeNumbered();
    }
    if (entries.length > 0) this.#append(entries);
  }

  /** Writes the remaining entries. */
  close(): void {
    if (this.#descriptor === undefined) return;
    if (this.#waiting.length > 0) this.#writeNumbered();
    closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }

  #append(entries: readonly TraceEntry[]): void {
    if (this.#descriptor === undefined) return;
    const text = Buffer.from(`${this.#end === 1 ? '' : ','}${JSON.stringify(entries).slice(1)}`);
    this.#tried(() => {
      writeSync(this.#descriptor!, text, 0, text.length, this.#end);
      this.#end += text.length - 1;
    });
  }

  #writeNumbered(): void {
    const entries = this.#waiting.flatMap((record) => record.entries);
    this.#waiting = [];
    this.#tried(() => writeFileSync(`${this.#path}.${this.#files++}`, JSON.stringify(entries)));
  }

  /** A full disk must not take the server down. The log says so once, until a write succeeds again. */
  #tried(write: () => void): void {
    try {
      write();
      this.#failed = false;
    } catch (error) {
      if (!this.#failed)
        this.#log.warn(`traces are lost: cannot write ${this.#path}: ${TritonError.from(error).message}`);
      this.#failed = true;
    }
  }
}
