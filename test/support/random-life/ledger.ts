// The book of all requests of a random life: each is opened when it is sent and closed exactly once, with an answer or
// an error, and what closes it is held against what may happen to it. What must not happen is collected, not thrown.
import { answerOf, MAX_ROWS, type LifeMemory, type WHAT } from '../../fixtures/random-life-instance.js';
import { isRefusal } from './refusals.js';

export type What = keyof typeof WHAT;

/** One model's standing: what may happen to its requests now. */
export class Standing {
  /** Times in which it is not served: begun and ended ones. */
  #changes = 0;
  #open = 0;
  /** Replacements since the last look at the statistics, or outages. */
  replaced = false;
  kills = 0;
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }

  /** Until the function is called that it returns, requests may be refused. */
  outage(): () => void {
    this.#changes++;
    this.#open++;
    this.replaced = true;
    let ended = false;
    return () => {
      if (ended) return;
      ended = true;
      this.#changes++;
      this.#open--;
    };
  }

  get isOut(): boolean {
    return this.#open > 0;
  }

  get mark(): number {
    return this.#open > 0 ? -1 : this.#changes;
  }

  /** Whether there was an outage since the mark. */
  disturbedSince(mark: number): boolean {
    return mark !== this.#changes || this.#open > 0;
  }
}

export interface Entry {
  readonly number: number;
  readonly standing: Standing;
  readonly what: What;
  /** Of its input and its answer; a stream has as many answers as its number says. */
  rows: number;
  readonly mark: number;
  readonly how: string;
  /** Several requests have this number. */
  readonly shared: boolean;
  /** Whether it gave itself a time limit. */
  readonly limited: boolean;
  /** Its client gave it up. */
  aborted: boolean;
  outcome?: string;
}

/** Which errors are allowed for which requests. */
const RULES: readonly (readonly [
  RegExp,
  (entry: Entry, match: RegExpExecArray, life: { readonly wasHeld: boolean }) => boolean,
])[] = [
  [/^told to throw: ([\d ]+)$/, ({ number }, [, numbers]) => numbers!.split(' ').includes(String(number))],
  [
    /^told to fail (\d+)$/,
    ({ number, what }, [, named]) => named === String(number) && (what === 'fail' || what === 'reject'),
  ],
  [
    /^inner of (\d+) failed$/,
    ({ number, standing }, [, named]) => named === String(number) && standing.name === 'Pipeline',
  ],
  [/ended while it was working on the request$/, ({ standing }) => standing.kills > 0],
  [/all instances (have ended|ended while the request waited)$/, ({ standing }) => standing.kills > 0],
  [/Exceeds maximum queue size$/, ({ standing }) => standing.name === 'Levels'],
  [/Request timeout expired$/, ({ standing, limited }) => standing.name === 'Levels' || limited],
  [/did not answer within its executionTimeoutMicroseconds/, ({ standing }) => standing.name === 'Impatient'],
  [/batches that took too long$/, ({ standing }, _, { wasHeld }) => standing.name === 'Impatient' && wasHeld],
  [/batch-size must be <= \d+/, ({ rows }) => rows > MAX_ROWS],
  [/cancelled by its signal$|^This operation was aborted$|^CANCELLED/, ({ aborted }) => aborted],
];
/** What happens while a model is not served, or the server. */
const OUTAGE =
  /Request for unknown model|is not at ready state|is not ready|Server is stopping|Server exiting|server (is|was) stop|has ended|ECONNRE|fetch failed|socket|onnection|GOAWAY|stream|terminated/i;

export class Ledger {
  readonly violations: string[] = [];
  readonly memory: LifeMemory;
  readonly #open = new Set<Entry>();
  #closed: Entry[] = [];
  #forgotten: readonly Entry[] = [];
  #number = 0;
  readonly #asked = new Set<string>();
  readonly #answered = new Set<string>();
  readonly counts = { sent: 0, answered: 0, failed: 0, aborted: 0 };
  readonly texts = new Map<string, number>();

  constructor(memory: LifeMemory) {
    this.memory = memory;
  }

  /**
   * When the thread of the callables last stood still for so long that a callable which would have ended seems stuck: that is the
   * machine's doing.
   */
  heldAt = -Infinity;

  get wasHeld(): boolean {
    return performance.now() - this.heldAt < 10_000;
  }

  violated(what: string): void {
    this.violations.push(what);
  }

  get waiting(): number {
    return this.#open.size;
  }

  open(
    standing: Standing,
    options: Partial<Pick<Entry, 'what' | 'rows' | 'how' | 'limited'>> & { shared?: number },
  ): Entry {
    this.counts.sent++;
    this.#asked.add(standing.name);
    const { what = 'answer', rows = 1, how = '', limited = false, shared } = options;
    const number = shared ?? 100 + ++this.#number;
    const entry: Entry = {
      number,
      standing,
      what,
      rows,
      how,
      limited,
      mark: standing.mark,
      shared: shared !== undefined,
      aborted: false,
    };
    this.#open.add(entry);
    return entry;
  }

  aborted(entry: Entry): void {
    if (!this.#open.has(entry)) return;
    entry.aborted = true;
  }

  /** The models that were asked, and of whose requests none was answered, but for these. */
  unanswered(allowed: readonly string[]): string[] {
    return [...this.#asked].filter((name) => !this.#answered.has(name) && !allowed.includes(name));
  }

  answered(entry: Entry, values: ArrayLike<number>): void {
    this.counts.answered++;
    this.#answered.add(entry.standing.name);
    const expected = Array.from({ length: entry.rows }, (_, row) => answerOf(entry.number, row)).flat();
    if (String(Array.from(values)) !== String(expected))
      this.#violated(entry, `answered with ${Array.from(values).join(' ')}`);
    this.#close(entry, 'answer');
  }

  failed(entry: Entry, text: string): void {
    this.counts.failed++;
    if (entry.aborted) this.counts.aborted++;
    if (!this.#mayFail(entry, text)) this.#violated(entry, `failed with '${text}'`);
    const kind = text.replace(/\d+( \d+)*/g, 'N');
    this.texts.set(kind, (this.texts.get(kind) ?? 0) + 1);
    this.#close(entry, text);
  }

  #mayFail(entry: Entry, text: string): boolean {
    for (const [pattern, allowed] of RULES) {
      const match = pattern.exec(text);
      if (match !== null && allowed(entry, match, this)) return true;
    }
    return OUTAGE.test(text) && (entry.standing.disturbedSince(entry.mark) || entry.aborted);
  }

  #close(entry: Entry, outcome: string): void {
    if (!this.#open.delete(entry)) return this.#violated(entry, `ended twice: ${entry.outcome}, then ${outcome}`);
    entry.outcome = outcome;
    this.#closed.push(entry);
  }

  #violated({ number, standing, what, rows, how }: Entry, text: string): void {
    this.violated(`request ${number} of ${standing.name} (${what}, ${rows} rows, ${how}) ${text}`);
  }

  /** Names what has not ended. */
  missing(): void {
    for (const entry of this.#open) this.#violated(entry, 'never ended');
    this.#open.clear();
  }

  /** Looks at all that has ended since the last time, when nothing is under way; gives it back. */
  settle(): readonly Entry[] {
    const closed = this.#closed;
    this.#closed = [];
    for (const entry of closed) if (!entry.shared) this.#checkBegun(entry);
    for (const entry of this.#forgotten) {
      if (this.memory.begun(entry.number) > 0) this.#violated(entry, 'began long after its client was gone');
    }
    this.#forgotten = [];
    return closed;
  }

  /** Nothing waits in the server any more: those that were given up before they began never will. */
  quiet(closed: readonly Entry[]): void {
    const never = ({ aborted, shared, number }: Entry) => aborted && !shared && this.memory.begun(number) === 0;
    this.#forgotten = closed.filter(never);
  }

  #checkBegun(entry: Entry): void {
    const begun = this.memory.begun(entry.number);
    if (begun > 1) this.#violated(entry, `ran ${begun} times`);
    const { outcome = '' } = entry;
    if (outcome === 'answer' && begun !== 1) this.#violated(entry, 'was answered without running');
    const neverRan = isRefusal(outcome) || NEVER_DISPATCHED.test(outcome);
    if (neverRan && begun > 0) this.#violated(entry, `ran and was refused with '${outcome}'`);
  }
}

/** What those fail with that leave the queue for no execution. */
const NEVER_DISPATCHED = /Request timeout expired$|all instances ended while the request waited$/;
