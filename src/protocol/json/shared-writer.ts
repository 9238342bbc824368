// The writer that answers are written with, one after the other; one that pauses while another is written keeps it, and
// the other gets a writer of its own.

import { JsonWriter } from './json-writer.js';

let free: JsonWriter | undefined = new JsonWriter();

/** Lends a writer for one text; whoever borrows it gives it back, whatever comes of the text. */
export function borrowWriter(): JsonWriter {
  const writer = free ?? new JsonWriter();
  free = undefined;
  return writer;
}

export function giveBackWriter(writer: JsonWriter): void {
  writer.discard();
  free = writer;
}
