// Thousands of requests at once that all differ, by every client and wire, with aborts, resets, slow readers and replaced
// connections. Each answer is held whole against the one that its own request has. What must not be is collected, not thrown.
import { setTimeout as later } from 'node:timers/promises';

import { Random } from '../random-life/random.js';
import { MODEL_NAMES } from './matrix-models.js';
import { MatrixServer } from './matrix-server.js';
import {
  expectedAnswers,
  LARGE_BYTES,
  questionOf,
  type ExpectedAnswer,
  type Manners,
  type ModelName,
  type Question,
} from './question.js';
import { GivenUp, type Link, type ReceivedAnswer, type Way } from './way.js';
import { wayNames, WAYS, type WayName } from './ways.js';

export interface MatrixOptions {
  readonly seed: number;
  /** How many questions must be answered. */
  readonly answers: number;
  readonly serverThread: boolean;
  /** Default: all. */
  readonly ways?: readonly WayName[];
  /** How often the server is stopped and runs again, and threads of instances end, in the middle of it all. Default: never. */
  readonly restarts?: number;
}

const CROWD = 64;
/** Questions of half a megabyte and more that are under way at once. */
const LARGE_ONES = 4;
const REBIND_EVERY = 400;
const ANSWERS_A_KILL = 50;
/** Who was refused waits before the next question: a server that starts is not flooded. */
const REFUSED_MS = 50;
/** What takes longer hangs, however busy the machine is. */
const PATIENCE_MS = 180_000;
const LOOK_MS = 1000;
const MOST_VIOLATIONS = 20;
/** Of a link that is replaced: it is left to end what is under way, or closed at once. */
const REPLACED = 0.02;
const CLOSED_AT_ONCE = 0.004;
const SHARED_GIVE_UP = 0.1;
const KILLED = /ended while it was working on the request|all instances (have ended|ended while the request waited)/;

/** A machine with far too much to do may keep this thread, which has the clients and most callables, from running for ten seconds. */
const STARVED = /the thread that it runs in is blocked/;

interface Asking {
  readonly question: Question;
  readonly way: WayName;
  readonly begun: number;
}

interface UsedLink {
  readonly link: Link;
  uses: number;
  isRetired: boolean;
  isClosed: boolean;
  /** How often the server had been stopped when the link was opened. */
  readonly life: number;
}

export class Matrix {
  readonly violations: string[] = [];
  readonly counts = { sent: 0, answered: 0, givenUp: 0, refused: 0, bytes: 0, links: 0, rebinds: 0 };
  readonly byWay: Partial<Record<WayName, number>> = {};
  readonly byModel: Partial<Record<ModelName, number>> = {};
  /** The largest request or answer, in bytes. */
  largest = 0;
  readonly server: MatrixServer;
  readonly #options: MatrixOptions;
  readonly #links = new Map<WayName, UsedLink>();
  readonly #asking = new Map<number, Asking>();
  /** What runs beside the questions: models that are bound anew, clients that close, the server's restart. */
  readonly #beside = new Set<Promise<void>>();
  readonly #answered: Pick<Question, 'number' | 'model'>[] = [];
  readonly #weights: Readonly<Record<WayName, number>>;
  #large = 0;
  readonly #waitingLarge: (() => void)[] = [];
  #stop: () => void = () => undefined;
  /** Something hangs: what else fails then fails for that. */
  #isStopped = false;

  constructor(options: MatrixOptions) {
    this.#options = options;
    this.server = new MatrixServer(4 * options.answers + 100_000, options.serverThread);
    const chosen = options.ways ?? wayNames(options.serverThread);
    this.#weights = Object.fromEntries(chosen.map((name) => [name, WAYS[name].weight])) as Record<WayName, number>;
  }

  async run(): Promise<void> {
    await this.server.start();
    const stopped = new Promise<void>((resolve) => (this.#stop = resolve));
    const watch = setInterval(() => this.#lookForHanging(), LOOK_MS);
    try {
      await Promise.race([stopped, Promise.all(Array.from({ length: CROWD }, () => this.#ask()))]);
      for (const name of this.#links.keys()) this.#replace(name, false);
      await Promise.race([stopped, Promise.all(this.#beside)]);
    } finally {
      clearInterval(watch);
      await this.server.triton.stop();
    }
    const { memory } = this.server;
    for (const { number, model } of this.#answered) {
      const runs = memory.runsOf(number);
      if (model !== 'Cached' && runs !== 1) this.#violated(`request ${number} of ${model} ran ${runs} times`);
    }
    if (memory.strangers > 0) this.#violated(`${memory.strangers} requests came that nobody asked`);
  }

  /** A slow restart may outlast the answers that were to come after it. The restarts still due come all the same. */
  get #isOver(): boolean {
    if (this.#isStopped || this.violations.length >= MOST_VIOLATIONS) return true;
    const { answers, restarts = 0 } = this.#options;
    return this.counts.answered >= answers && this.server.restarts >= restarts;
  }

  async #ask(): Promise<void> {
    while (!this.#isOver) await this.#askOne(this.counts.sent++);
  }

  async #askOne(number: number): Promise<void> {
    const { seed } = this.#options;
    const random = new Random(seed ^ Math.imul(number, 0xc2b2ae35));
    const way = random.weighted(this.#weights);
    const question = questionOf(seed, number, WAYS[way].limits);
    const isLarge = question.bytes > LARGE_BYTES;
    if (isLarge && this.#large++ >= LARGE_ONES) await new Promise<void>((resolve) => this.#waitingLarge.push(resolve));
    if (random.chance(REPLACED)) this.#replace(way, random.chance(CLOSED_AT_ONCE / REPLACED));
    this.#disturb(number, random);
    this.#asking.set(number, { question, way, begun: performance.now() });
    await this.#answer(question, way, this.#linkOf(way));
    this.#asking.delete(number);
    if (!isLarge) return;
    this.#large--;
    this.#waitingLarge.shift()?.();
  }

  /** What happens to the server beside a question. */
  #disturb(number: number, random: Random): void {
    const { answers, restarts = 0 } = this.#options;
    if (number % REBIND_EVERY === REBIND_EVERY - 1) {
      this.counts.rebinds++;
      const name = random.of(MODEL_NAMES);
      this.#watch(`rebinding ${name}`, this.server.rebind(name));
    }
    if (restarts === 0 || this.server.isRestarting) return;
    const killsDue = Math.floor(this.counts.answered / ANSWERS_A_KILL);
    if (killsDue > this.server.kills) this.#watch('ending a thread', this.server.kill());
    const due = Math.min(restarts, Math.floor(((restarts + 1) * this.counts.answered) / answers));
    if (due > this.server.restarts) this.#watch('restarting the server', this.server.restart());
  }

  async #answer(question: Question, way: WayName, used: UsedLink): Promise<void> {
    used.uses++;
    const { manners, model } = question;
    const controller = new AbortController();
    try {
      const asked = used.link.ask(question, controller.signal);
      if (givesUp(WAYS[way], manners)) giveUp(manners, controller);
      const answers = await asked;
      this.counts.answered++;
      this.byWay[way] = (this.byWay[way] ?? 0) + 1;
      this.byModel[model] = (this.byModel[model] ?? 0) + 1;
      this.largest = Math.max(this.largest, question.bytes);
      this.#answered.push({ number: question.number, model });
      this.#compare(question, way, answers);
    } catch (error) {
      if (controller.signal.aborted || used.isClosed || error instanceof GivenUp) this.counts.givenUp++;
      else await this.#failed(question, way, { error: error as Error, life: used.life });
    } finally {
      if (--used.uses === 0 && used.isRetired) this.#close(used);
    }
  }

  /** A stop refuses what has not begun. What ran is answered. */
  async #failed(question: Question, way: WayName, { error, life }: { error: Error; life: number }): Promise<void> {
    if (this.#isStopped) return;
    const { restarts, memory, kills, isRestarting } = this.server;
    const { model, number } = question;
    const isKilled = kills > 0 && (model === 'Threads' || model === 'Calls') && KILLED.test(error.message);
    const hasRun = model !== 'Cached' && memory.runsOf(number) > 0;
    if (isKilled || ((isRestarting || restarts > life || STARVED.test(error.message)) && !hasRun)) {
      this.counts.refused++;
      await later(REFUSED_MS);
      return;
    }
    const { cause } = error;
    const why = cause instanceof Error ? ` (${cause.message})` : '';
    this.#violated(`${nameOf(question, way)} failed${hasRun ? ', though it ran' : ''}: ${String(error)}${why}`);
  }

  #compare(question: Question, way: WayName, answers: readonly ReceivedAnswer[]): void {
    const expected = expectedAnswers(question, WAYS[way].adds(question));
    const wrong = difference(question, expected, answers);
    if (wrong !== undefined) this.#violated(`${nameOf(question, way)}: ${wrong}`);
    this.counts.bytes += expected.reduce((sum, { y }) => sum + y.length, 0);
  }

  #linkOf(way: WayName): UsedLink {
    const known = this.#links.get(way);
    if (known !== undefined && (known.life === this.server.restarts || this.server.isRestarting)) return known;
    if (known !== undefined) this.#replace(way, false);
    const link = (WAYS[way] as Way).open(this.server, (what) => this.#violated(what));
    const used = { link, uses: 0, isRetired: false, isClosed: false, life: this.server.restarts };
    this.counts.links++;
    this.#links.set(way, used);
    return used;
  }

  #replace(way: WayName, atOnce: boolean): void {
    const used = this.#links.get(way);
    if (used === undefined) return;
    this.#links.delete(way);
    used.isRetired = true;
    if ((atOnce && !(WAYS[way] as Way).isPatient) || used.uses === 0) this.#close(used);
  }

  #close(used: UsedLink): void {
    if (used.isClosed) return;
    used.isClosed = true;
    this.#watch('closing a client', Promise.resolve(used.link.close()));
  }

  #watch(what: string, promise: Promise<void>): void {
    const watched = promise
      .catch((error: unknown) => this.#violated(`${what}: ${String(error)}`))
      .finally(() => this.#beside.delete(watched));
    this.#beside.add(watched);
  }

  #lookForHanging(): void {
    const now = performance.now();
    const hanging = [...this.#asking.values()].filter(({ begun }) => now - begun > PATIENCE_MS);
    for (const { question, way } of hanging) {
      const runs = this.server.memory.runsOf(question.number);
      this.#violated(`${nameOf(question, way)} never ended; its callable ran ${runs} times`);
    }
    if (hanging.length === 0) return;
    this.#isStopped = true;
    this.#stop();
  }

  #violated(what: string): void {
    if (this.violations.length < MOST_VIOLATIONS) this.violations.push(what);
  }
}

function givesUp({ isShared, isPatient }: Way, { draw }: Manners): boolean {
  return !isPatient && (!isShared || draw < SHARED_GIVE_UP);
}

function giveUp({ givesUpAfter }: Manners, controller: AbortController): void {
  if (givesUpAfter === 0) queueMicrotask(() => controller.abort());
  else if (givesUpAfter !== undefined) setTimeout(() => controller.abort(), givesUpAfter);
}

function nameOf({ number, model, bytes, manners }: Question, way: WayName): string {
  const slow = manners.isSlow ? ', slow reader' : '';
  return `request ${number} of ${model} by ${way} (${bytes} bytes${slow})`;
}

function difference(
  { id }: Question,
  expected: readonly ExpectedAnswer[],
  answers: readonly ReceivedAnswer[],
): string | undefined {
  if (answers.length !== expected.length) return `${answers.length} answers, expected ${expected.length}`;
  for (const [i, { y, said }] of expected.entries()) {
    const got = answers[i]!;
    const where = expected.length === 1 ? '' : ` of answer ${i}`;
    if (got.id !== undefined && got.id !== id) return `the id${where} is '${got.id}', expected '${id}'`;
    if (got.said.join() !== said.join()) return `the text${where} is '${got.said.join()}', expected '${said.join()}'`;
    if (Buffer.compare(got.y, y) !== 0) {
      const at = y.findIndex((byte, index) => got.y[index] !== byte);
      return `the ${got.y.length} bytes${where} differ from the ${y.length} expected ones from ${at} on`;
    }
  }
  return undefined;
}
