// Reads tritonserver's log and hands its entries to a logger.

import type { Logger } from '../observability/logger.js';

/** Letter, month, day, time, process, place in the source, and the message. */
const ENTRY = /^([EWIV])\d{4} \d\d:\d\d:\d\d\.\d+ \d+ (\S+:\d+)\] (.*)$/s;

/** Lines of the tables that it writes at its start. */
const TABLE = /^[+|][-+ ]/;

/** Its last line before it ends, as `error: creating server: …`, or first, before it explains its flags. */
const REASON = /^error: |: unrecognized option |: option .* requires|^Bad option|^failed to/;

export class LogLines {
  readonly #logger: Logger;
  #rest = '';
  /** Why it ended, if a line says so; otherwise its last error, or its last line. */
  reason = '';
  #rank = 0;
  #decoder = new TextDecoder();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  push(chunk: Uint8Array): void {
    const lines = (this.#rest + this.#decoder.decode(chunk, { stream: true })).split('\n');
    this.#rest = lines.pop()!;
    for (const line of lines) this.#log(line);
  }

  /** Logs a last line without an end. */
  end(): void {
    if (this.#rest !== '') this.#log(this.#rest);
    this.#rest = '';
  }

  #log(line: string): void {
    // A table follows an entry without a message.
    if (messageOf(line).trim() === '') return;
    const rank = REASON.test(line) ? 2 : ENTRY.exec(line)?.[1] === 'E' ? 1 : 0;
    if (rank >= this.#rank) {
      this.#rank = rank;
      this.reason = messageOf(line);
    }
    const match = ENTRY.exec(line);
    const logger = this.#logger;
    const message = `tritonserver: ${messageOf(line)}`;
    if (TABLE.test(line)) return logger.verbose(1, message);
    switch (match?.[1]) {
      case 'E':
        return logger.error(message);
      case 'W':
        return logger.warn(message);
      case 'V':
        return logger.verbose(1, message);
      default:
        return logger.info(message);
    }
  }
}

/** Messages are quoted as in JSON from 2.46 on. */
function messageOf(line: string): string {
  const text = ENTRY.exec(line)?.[3] ?? line;
  if (!text.startsWith('"') || !text.endsWith('"')) return text;
  try {
    return String(JSON.parse(text));
  } catch {
    return text;
  }
}
