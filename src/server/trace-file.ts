// Writes the trace file: a JSON array of entries, complete after every write, or one file for every N traces. It writes
// once for each turn of the event loop; Triton writes its single file at its exit.

import { closeSync, ftruncateSync, openSync, writeFileSync, writeSync } from 'node:fs';

import type { FileRecord, TraceEntry } from '../core/file-trace.js';
import { invalidArg, TritonError } from '../errors.js';

interface Log {
  warn(message: string): void;
}

export class TraceFile {
  readonly #path: string;
  readonly #log: Log;
  #descriptor: number | undefined;
  /** The position of the array's closing bracket; 0 before there is an array. */
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
    this.#tried(() => this.#replaceEnd(this.#descriptor!, '[]'));
  }

  add(records: readonly FileRecord[]): void {
    for (const record of records) {
      if (record.logFrequency === 0) continue;
      this.#waiting.push(record);
      if (this.#waiting.length >= record.logFrequency) this.#writeNumbered();
    }
    const together = records.filter(({ logFrequency }) => logFrequency === 0);
    if (together.length > 0) this.#append(together.flatMap(({ entries }) => entries));
  }

  /** Writes the remaining entries. */
  close(): void {
    if (this.#descriptor === undefined) return;
    if (this.#waiting.length > 0) this.#writeNumbered();
    closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }

  #append(entries: readonly TraceEntry[]): void {
    const descriptor = this.#descriptor;
    if (descriptor === undefined) return;
    const before = ['[', ''][this.#end] ?? ',';
    this.#tried(() => this.#replaceEnd(descriptor, before + JSON.stringify(entries).slice(1)));
  }

  /** Writes over the closing bracket. After a failure the file is what it was before. */
  #replaceEnd(descriptor: number, text: string): void {
    const bytes = Buffer.from(text);
    let written = 0;
    try {
      // A full disk takes a part of the bytes, and fails at the next write.
      while (written < bytes.length) written += writeSync(descriptor, bytes, written, null, this.#end + written);
    } catch (error) {
      if (written > 0) this.#restoreEnd(descriptor);
      throw error;
    }
    this.#end += bytes.length - 1;
  }

  #restoreEnd(descriptor: number): void {
    if (this.#end > 0) writeSync(descriptor, ']', this.#end);
    ftruncateSync(descriptor, this.#end > 0 ? this.#end + 1 : 0);
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
