// Keeps the latest entries of the log in memory, for the page.

import type { LogEntry, LogSink } from '../../logger.js';
import type { PageLogEntryJson, PageLogJson } from './page-json.js';

const MOST_ENTRIES = 500;
/** Longer messages are cut. */
const LONGEST = 4000;

export class LogTail {
  readonly #entries: PageLogEntryJson[] = [];
  #count = 0;

  add({ level, message }: LogEntry): void {
    const text = message.length > LONGEST ? `${message.slice(0, LONGEST)} …` : message;
    this.#entries.push({ number: ++this.#count, time: Date.now(), level, message: text });
    if (this.#entries.length > MOST_ENTRIES) this.#entries.shift();
  }

  /** A sink that keeps the entries here on their way to `sink`. */
  before(sink: LogSink): LogSink {
    return {
      write: (entry) => {
        this.add(entry);
        sink.write(entry);
      },
    };
  }

  /** The entries behind a number. A number of a server before this one, which is too high, gives all. */
  after(number: number): PageLogJson {
    const from = number > this.#count ? 0 : number;
    return { entries: this.#entries.filter((entry) => entry.number > from) };
  }
}
