// Whether the process may open one more file, which each new connection is. When it may not, Node closes new connections as they
// come and tells nobody, the program neither: so one is opened now and then, for a look.

import { closeSync, openSync } from 'node:fs';
import { devNull } from 'node:os';

const LOOK_MILLISECONDS = 500;
/** Where it comes and goes, it is told as one. */
const LEAST_CALM_MILLISECONDS = 5000;

export interface OpenFilesListeners {
  /** No file can be opened any more: the code of the system's error. */
  readonly onNone: (code: string) => void;
  /** They can be opened again, and could be for a while. */
  readonly onEnough: () => void;
}

export class OpenFiles {
  readonly #listeners: OpenFilesListeners;
  readonly #look: () => string | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** When there was no file to be had last; undefined: that is over, and told. */
  #missedAt: number | undefined;

  /** `look` gives the code of the error when no file can be opened. */
  constructor(listeners: OpenFilesListeners, look: () => string | undefined = lookAtFiles) {
    this.#listeners = listeners;
    this.#look = look;
  }

  /** Looks from now on, without keeping the process alive. */
  watch(): void {
    this.#timer ??= setInterval(() => this.#check(), LOOK_MILLISECONDS).unref();
  }

  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #check(): void {
    const code = this.#look();
    const now = performance.now();
    const missedAt = this.#missedAt;
    if (code !== undefined) {
      this.#missedAt = now;
      if (missedAt === undefined) this.#listeners.onNone(code);
    } else if (missedAt !== undefined && now - missedAt >= LEAST_CALM_MILLISECONDS) {
      this.#missedAt = undefined;
      this.#listeners.onEnough();
    }
  }
}

function lookAtFiles(): string | undefined {
  try {
    closeSync(openSync(devNull, 'r'));
    return undefined;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // The process has none, or the whole system. Whatever else is wrong does not concern connections.
    return code === 'EMFILE' || code === 'ENFILE' ? code : undefined;
  }
}
