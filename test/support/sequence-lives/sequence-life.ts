// The random life of sequences on a server: players begin, continue, stall, abandon, restart, cancel and end them over every wire,
// while models are replaced and threads die. At the end the server stops in the middle of it.
import { setTimeout as later } from 'node:timers/promises';

import { instanceGroup, Triton } from 'tstriton';
import { ModelClient, type SequenceOptions } from 'tstriton/client';

import { StepMemory, stepCallable, sumAfter, WHAT } from '../../fixtures/sequence-lives-instance.js';
import { Random } from '../random-life/random.js';
import { FREE_PORTS } from '../start-server.js';

export interface SequenceLifeOptions {
  readonly seed: number;
  /** Requests. */
  readonly steps: number;
  readonly serverThread: boolean;
}

const MODELS = ['Direct', 'Oldest', 'Threads'] as const;
type ModelName = (typeof MODELS)[number];
type What = keyof typeof WHAT;

const PLAYERS = 32;
const IDLE_MS = 400;
const STALL_MS = IDLE_MS + 50;
const MOST_KILLS = 4;
const MOST_STEPS_OF_A_SEQUENCE = 12;
const STEPS_BETWEEN_REBINDS = 150;
const MODULE = new URL('../../fixtures/sequence-lives-instance.js', import.meta.url).href;
/** What a server says that has been told to stop. */
const STOPPED = ['Server is stopping', 'is shutting down', 'is not ready', 'is not available'];
const STEP = { dtype: 'int32', shape: [3] } as const;

/** One sequence as its player knows it. */
interface Played {
  readonly model: ModelName;
  readonly number: number;
  readonly id: number | string;
  /** Threads that had died when it began. */
  readonly deaths: number;
  isOver: boolean;
  steps: number;
  sum: number;
  /** When its last answered request was sent. */
  aliveAt: number;
}

interface Sent {
  readonly what: What;
  readonly step: number;
  readonly flags: SequenceOptions;
}

/** What became of a request: `over` where its sequence cannot go on. */
type Outcome = 'answered' | 'failed' | 'over';

/** Sends requests of one sequence, in order. */
interface Sender {
  send(requests: readonly Sent[]): Promise<Outcome[]>;
  close(): Promise<void>;
}

export class SequenceLife {
  readonly violations: string[] = [];
  readonly counts = { requests: 0, answered: 0, failed: 0, expired: 0, lost: 0, cancelled: 0, rebinds: 0, stopped: 0 };
  readonly #random: Random;
  readonly #steps: number;
  readonly #memory: StepMemory;
  /** States that are made in threads, which may die with them. */
  readonly #inThreads: StepMemory;
  readonly #triton: Triton;
  readonly #clients = new Map<string, ModelClient>();
  readonly #rebinding = new Map<ModelName, Promise<void>>();
  /** Ids of sequences that were left without END. */
  readonly #left = new Set<number | string>();
  #lastNumber = 0;
  #lastId = 0;
  /** Requests that kill a thread. */
  #kills = 0;
  /** Those that have done so. */
  #deaths = 0;
  #isStopping = false;

  constructor({ seed, steps, serverThread }: SequenceLifeOptions) {
    this.#random = new Random(seed);
    this.#steps = steps;
    this.#memory = StepMemory.create(2 * steps + PLAYERS);
    this.#inThreads = StepMemory.create(2 * steps + PLAYERS);
    this.#triton = new Triton({ ...FREE_PORTS, serverThread });
  }

  async run(): Promise<void> {
    for (const name of MODELS) this.#triton.bind(this.#bound(name));
    await this.#triton.run();
    const { httpPort, grpcPort } = this.#triton;
    for (const model of MODELS) {
      for (const url of [`http://127.0.0.1:${httpPort}`, `grpc://127.0.0.1:${grpcPort}`]) {
        this.#clients.set(`${model} ${url.slice(0, 4)}`, new ModelClient(url, model, { retry: false }));
      }
    }
    const players = Promise.all(Array.from({ length: PLAYERS }, () => this.#play()));
    await this.#rebindNowAndThen();
    this.#isStopping = true;
    const stopped = this.#triton.stop();
    await players;
    await Promise.all(this.#rebinding.values());
    await stopped;
    for (const client of this.#clients.values()) await client.close();
    this.#look();
  }

  /** The server is gone: nothing may be left of any sequence. */
  #look(): void {
    const { violations, made, ended } = this.#memory;
    if (violations + this.#inThreads.violations > 0) this.violations.push('a callable saw a violation, see above');
    if (made !== ended) this.violations.push(`${made} states were made, and ${ended} ended`);
    const threads = this.#inThreads;
    const mayBeLost = this.#kills > 0;
    if (threads.ended > threads.made || (!mayBeLost && threads.ended < threads.made)) {
      this.violations.push(`${threads.made} states were made in threads, and ${threads.ended} ended`);
    }
  }

  #bound(modelName: ModelName) {
    const common = { modelName, inputs: { x: STEP }, outputs: { y: STEP } };
    const idle = { maxSequenceIdleMicroseconds: IDLE_MS * 1000 };
    const memory = this.#memory;
    switch (modelName) {
      case 'Direct': {
        const kept = { state: () => memory.make(), onEnd: (state: object) => memory.end(state) };
        const config = { maxBatchSize: 8, sequenceBatching: { ...idle, ...kept } };
        return { ...common, config, inferFunc: [stepCallable(memory), stepCallable(memory)] };
      }
      case 'Oldest': {
        const batching = { ...idle, strategy: 'oldest', maxCandidateSequences: 6, state: { kept: STEP } } as const;
        return {
          ...common,
          config: { maxBatchSize: 3, sequenceBatching: batching },
          inferFunc: stepCallable(memory, true),
        };
      }
      case 'Threads': {
        const args = [this.#inThreads.buffer, this.#inThreads.buffer];
        const batching = { ...idle, strategy: 'oldest', maxCandidateSequences: 16, state: () => 0 } as const;
        return {
          ...common,
          config: { maxBatchSize: 4, sequenceBatching: batching },
          inferFunc: instanceGroup(MODULE, { args }),
        };
      }
    }
  }

  async #rebindNowAndThen(): Promise<void> {
    for (let next = STEPS_BETWEEN_REBINDS; this.counts.requests < this.#steps;) {
      await later(5);
      if (this.counts.requests < next || this.violations.length > 0) {
        if (this.violations.length > 0) return;
        continue;
      }
      next += STEPS_BETWEEN_REBINDS;
      const model = this.#random.of(MODELS);
      if (this.#rebinding.has(model)) continue;
      this.counts.rebinds++;
      const rebound = this.#triton.rebind(this.#bound(model)).then(
        () => void this.#rebinding.delete(model),
        (error: unknown) => {
          this.#rebinding.delete(model);
          if (!this.#isStopping) this.violations.push(`rebind of ${model} failed: ${String(error)}`);
        },
      );
      this.#rebinding.set(model, rebound);
    }
  }

  /** One player has one sequence after the other. */
  async #play(): Promise<void> {
    let id = this.#newId();
    while (!this.#isStopping && this.violations.length === 0) {
      const played: Played = {
        model: this.#random.of(MODELS),
        number: ++this.#lastNumber,
        id,
        deaths: this.#deaths,
        isOver: false,
        steps: 0,
        sum: 0,
        aliveAt: performance.now(),
      };
      const mayUseIdAgain = await this.#playSequence(played);
      if (!mayUseIdAgain || this.#random.chance(0.5)) id = this.#newId();
    }
  }

  #newId(): number | string {
    const id = ++this.#lastId;
    return this.#random.chance(0.5) ? id : String(id);
  }

  /** True where nothing of it is under way any more: another sequence may have its id. */
  async #playSequence(played: Played): Promise<boolean> {
    const random = this.#random;
    const length = random.integer(1, MOST_STEPS_OF_A_SEQUENCE);
    const isEnded = random.chance(0.9);
    const way = random.of(['http', 'grpc', 'stream'] as const);
    const sender = way === 'stream' ? this.#stream(played) : this.#unary(played, way);
    try {
      while (played.steps < length) {
        if (random.chance(0.01)) await later(STALL_MS);
        if (played.steps > 0 && way !== 'stream' && random.chance(0.01)) {
          await this.#cancelNext(played, way);
          return false;
        }
        // A server that stops may refuse START. The steps behind it would then continue the sequence that was left with this id.
        const mayBurst = way === 'stream' && (played.steps > 0 || !this.#left.has(played.id));
        const requests = this.#requestsOf(played, { length, isEnded, most: mayBurst ? 4 : 1 });
        const outcomes = await sender.send(requests);
        if (outcomes.includes('over')) return false;
        if (requests.at(-1)!.flags.end === true) return true;
      }
      this.#left.add(played.id);
      return true;
    } finally {
      await sender.close();
    }
  }

  /** The next requests, sent at once. A failing one comes alone, because the steps behind it would not follow. */
  #requestsOf(
    { model, id, steps }: Played,
    { length, isEnded, most }: { readonly length: number; readonly isEnded: boolean; readonly most: number },
  ): Sent[] {
    const random = this.#random;
    const count = Math.min(random.integer(1, most), length - steps);
    const requests: Sent[] = [];
    for (let step = steps; step < steps + count; step++) {
      const end = isEnded && step === length - 1;
      requests.push({ what: random.chance(0.3) ? 'late' : 'answer', step, flags: { id, start: step === 0, end } });
    }
    const mayKill = model === 'Threads' && this.#kills < MOST_KILLS && !this.#isStopping;
    const special = mayKill && random.chance(0.02) ? 'exit' : steps > 0 && random.chance(0.03) ? 'fail' : undefined;
    if (special === undefined) return requests;
    if (special === 'exit') this.#kills++;
    return [{ what: special, step: steps, flags: { id, start: steps === 0, end: false } }];
  }

  #input({ number }: Played, { what, step }: Sent) {
    this.counts.requests++;
    return { x: Int32Array.of(number, step, WHAT[what]) };
  }

  #unary(played: Played, way: 'http' | 'grpc'): Sender {
    const client = this.#clients.get(`${played.model} ${way}`)!;
    const send = async ([request]: readonly Sent[]) => {
      const sentAt = performance.now();
      try {
        const outputs = await client.inferSample(this.#input(played, request!), { sequence: request!.flags });
        return [this.#answered(played, request!, { sentAt, outputs })];
      } catch (error) {
        return [this.#failed(played, request!, error)];
      }
    };
    return { send, close: () => Promise.resolve() };
  }

  #stream(played: Played): Sender {
    const stream = this.#clients.get(`${played.model} grpc`)!.stream();
    const send = async (requests: readonly Sent[]) => {
      const sentAt = performance.now();
      for (const request of requests) {
        // Where the server has ended the stream, its answers tell why.
        await stream.send(this.#input(played, request), { sequence: request.flags }).catch(() => undefined);
      }
      const outcomes: Outcome[] = [];
      for (const request of requests) {
        try {
          const { value } = await stream.next();
          if (value?.error !== undefined) throw value.error;
          outcomes.push(this.#answered(played, request, { sentAt, outputs: value!.outputs! }));
        } catch (error) {
          outcomes.push(this.#failed(played, request, error));
        }
      }
      return outcomes;
    };
    return { send, close: async () => void (await stream.return()) };
  }

  #answered(
    played: Played,
    { what, step }: Sent,
    answer: { readonly sentAt: number; readonly outputs: object },
  ): Outcome {
    const { y } = answer.outputs as { readonly y: { readonly data: Int32Array } };
    const sum = sumAfter(played.sum, played.number, step);
    const expected = [played.number, step + 1, sum].join(' ');
    if (what === 'fail' || what === 'exit' || played.isOver)
      this.violations.push(`a request that is to ${what} was answered, or came after the end of ${played.number}`);
    else if ([...y.data].join(' ') !== expected) {
      this.violations.push(`${played.model}: step ${step} got ${[...y.data].join(' ')}, expected ${expected}`);
    }
    Object.assign(played, { steps: step + 1, sum, aliveAt: answer.sentAt });
    this.counts.answered++;
    return 'answered';
  }

  #failed(played: Played, { what, flags }: Sent, error: unknown): Outcome {
    const { message } = error as Error;
    if (what === 'fail' && message.includes(`told to fail ${played.number}`)) {
      this.counts.failed++;
      return 'failed';
    }
    // With it all that was sent behind it.
    if (played.isOver) return 'over';
    played.isOver = true;
    const isLossPossible = played.model === 'Threads' && this.#kills > played.deaths;
    if (what === 'exit') this.#deaths++;
    // The port may be closed when a sequence has expired meanwhile.
    const isStop = STOPPED.some((text) => message.includes(text));
    if (played.model === 'Threads' && this.#kills > 0 && message.includes('is not ready')) this.counts.lost++;
    else if (isLossPossible) this.counts.lost++;
    else if (this.#isStopping && flags.start === true) this.counts.stopped++;
    else if (message.includes('must specify the START flag') || (this.#isStopping && isStop)) {
      // The server counts from its answer, which came after the request was sent.
      const rest = performance.now() - played.aliveAt;
      if (rest < IDLE_MS) this.#undeserved(played, `after ${rest} ms: ${message}`);
      this.counts.expired++;
    } else this.#undeserved(played, message);
    return 'over';
  }

  #undeserved({ model, number, steps }: Played, what: string): void {
    this.violations.push(`${model}: sequence ${number} after ${steps} steps: ${what}`);
  }

  /** Leaves a request; whether it runs nobody knows. */
  async #cancelNext(played: Played, way: 'http' | 'grpc'): Promise<void> {
    const request: Sent = { what: 'late', step: played.steps, flags: { id: played.id } };
    const leaving = new AbortController();
    const client = this.#clients.get(`${played.model} ${way}`)!;
    const options = { sequence: request.flags, signal: leaving.signal };
    const asked = client.inferSample(this.#input(played, request), options).catch(() => undefined);
    await later(this.#random.integer(0, 2));
    leaving.abort();
    await asked;
    this.counts.cancelled++;
  }
}
