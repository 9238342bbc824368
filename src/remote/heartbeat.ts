// Asks the other side again and again whether it is there, and tells when it is silent: a machine, or the network to it, may
// vanish without a word. TCP notices that late while bytes are under way, and not at all behind a proxy.

const BETWEEN_MS = 5000;
/** An answer has this many turns of this length. They are counted, because a callable may block this thread for longer. */
const TURNS = 20;
const TURN_MS = 500;
/** Nobody at that address answers. */
const NO_WAY = new Set(['EHOSTUNREACH', 'ENETUNREACH', 'ETIMEDOUT']);

export interface HeartbeatOptions {
  /** Resolves or rejects with any answer. */
  readonly ask: (signal: AbortSignal) => Promise<unknown>;
  readonly onSilent: () => void;
}

export class Heartbeat {
  readonly #options: HeartbeatOptions;
  #timer: NodeJS.Timeout | undefined;
  #asking: AbortController | undefined;
  #isOver = false;

  constructor(options: HeartbeatOptions) {
    this.#options = options;
    this.#pause();
  }

  close(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#asking?.abort();
  }

  #pause(): void {
    this.#timer = setTimeout(() => void this.#ask(), BETWEEN_MS);
  }

  async #ask(): Promise<void> {
    const asking = (this.#asking = new AbortController());
    let turns = 0;
    const ticking = setInterval(() => {
      if (++turns === TURNS) asking.abort();
    }, TURN_MS);
    let isSilent = false;
    try {
      await this.#options.ask(asking.signal);
    } catch (error) {
      // Any other error is an answer too.
      isSilent = asking.signal.aborted || NO_WAY.has(codeOf(error));
    } finally {
      clearInterval(ticking);
    }
    if (this.#isOver) return;
    if (isSilent) this.#options.onSilent();
    this.#pause();
  }
}

/** The system's code of an error, or of what has caused it. */
function codeOf(error: unknown): string {
  for (let at = error; at instanceof Error; at = at.cause) {
    const { code } = at as NodeJS.ErrnoException;
    if (code !== undefined && NO_WAY.has(code)) return code;
  }
  return '';
}
