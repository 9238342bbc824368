// The random life of a server: requests by many ways to models of every kind, while instances die, models are replaced,
// taken away and brought back, and the server stops and starts. What is random follows from the seed; what happens follows
// from sockets and threads as well, so that a seed makes a failure likely again, not certain.
import { setImmediate as turn } from 'node:timers/promises';

import { Triton, TritonError } from 'tstriton';

import { LifeMemory, MAX_ROWS } from '../../fixtures/random-life-instance.js';
import { FREE_PORTS } from '../start-server.js';
import { Connections, WAYS } from './connections.js';
import { Ledger, Standing, type Entry, type What } from './ledger.js';
import { bindModel, deedsOf, names, rebindModel, type ModelName } from './models.js';
import { Random } from './random.js';
import { StatisticsCheck } from './statistics-check.js';

export interface LifeOptions {
  readonly seed: number;
  readonly steps: number;
  readonly serverThread: boolean;
}

/** Requests under way at most. */
const CROWD = 160;
const STEPS_BETWEEN_LOOKS = 500;
/** Between every second look and the next nothing happens but requests: what is replaced loses its counters. */
const REQUESTS_ONLY = { burst: 1000, stream: 90, rebind: 0, bind: 0, load: 0, restart: 0 };
const EVERYTHING = { burst: 1000, stream: 90, rebind: 60, bind: 36, load: 36, restart: 14 };
/** Longer than anything in a life may take. */
const PATIENCE_MS = 120_000;
const QUESTIONS = 48;
/** The thread is looked at so often, and is held when it is late by so much: half of what an aborted callable has to settle. */
const LOOK_MS = 50;
const HELD_MS = 500;

export class RandomLife {
  readonly #steps: number;
  readonly #random: Random;
  readonly ledger: Ledger;
  readonly #triton: Triton;
  readonly #standings = new Map(names.map((name) => [name, new Standing(name)]));
  readonly #requests = new Set<Promise<void>>();
  readonly #changes = new Set<Promise<void>>();
  #connections!: Connections;
  #restarting: Promise<void> | undefined;
  #looks = 0;
  /** What was done beside requests. */
  readonly deeds: Record<string, number> = {};

  constructor({ seed, steps, serverThread }: LifeOptions) {
    this.#steps = steps;
    this.#random = new Random(seed);
    // Half of all lives are in no hurry when the server stops, the others wait for nobody.
    const exitTimeoutSecs = seed % 2 === 0 ? 30 : 0;
    const memory = LifeMemory.create(4 * steps + 10_000);
    memory.mayOverlap = exitTimeoutSecs === 0;
    this.ledger = new Ledger(memory);
    this.#triton = new Triton({
      ...FREE_PORTS,
      serverThread,
      exitTimeoutSecs,
      modelControlMode: 'explicit',
      loadModel: '*',
      restrictedEndpoints: [],
      cacheConfig: 'local,size=262144',
    });
  }

  /** Lives; what was wrong is in the ledger. */
  async run(): Promise<void> {
    for (const name of names) bindModel(this.#triton, name, this.ledger, this.#standings);
    await this.#triton.run();
    this.#connect();
    const watch = this.#watchThread();
    let statistics = await StatisticsCheck.begin(this.#connections, this.#standings);
    try {
      for (let step = 0, looked = 0; step < this.#steps && this.ledger.violations.length === 0;) {
        step += this.#step();
        await this.#pace();
        if (step - looked < STEPS_BETWEEN_LOOKS && step < this.#steps) continue;
        looked = step;
        this.#looks++;
        if (!(await this.#calm())) break;
        const closed = this.ledger.settle();
        this.ledger.violations.push(...(await statistics.end(this.#connections, closed)));
        this.ledger.quiet(closed);
        statistics = await StatisticsCheck.begin(this.#connections, this.#standings, closed);
      }
    } finally {
      clearInterval(watch);
      await this.#triton.stop();
      await this.#connections.close();
    }
    this.ledger.settle();
    const { violations } = this.ledger.memory;
    if (violations > 0) this.ledger.violated(`${violations} violations seen by callables, see the log`);
  }

  #watchThread(): NodeJS.Timeout {
    let last = performance.now();
    return setInterval(() => {
      const now = performance.now();
      if (now - last > HELD_MS) this.ledger.heldAt = now;
      last = now;
    }, LOOK_MS);
  }

  #connect(): void {
    this.#connections = new Connections(this.#triton, this.ledger, this.#random);
  }

  /** Does something; tells how many steps it was. */
  #step(): number {
    const random = this.#random;
    const deed = random.weighted(this.#looks % 2 === 0 ? REQUESTS_ONLY : EVERYTHING);
    this.deeds[deed] = (this.deeds[deed] ?? 0) + 1;
    const name = random.of(names);
    switch (deed) {
      case 'burst':
        return this.#burst();
      case 'stream':
        return this.#stream(random.of(['Words', 'Words', 'Ordered', 'Threads'] as const));
      case 'rebind':
        this.#add(this.#changes, this.#rebind(name));
        return 1;
      case 'bind':
        if (!this.#standings.get(name)!.isOut) this.#add(this.#changes, this.#bindAgain(name));
        return 1;
      case 'load':
        if (!this.#standings.get(name)!.isOut) this.#add(this.#changes, this.#reload(name));
        return 1;
      case 'restart':
        this.#restarting ??= this.#restart().finally(() => (this.#restarting = undefined));
        return 1;
    }
  }

  #burst(): number {
    const random = this.#random;
    const favourite = random.chance(0.7) ? random.of(names) : undefined;
    const count = random.integer(1, 24);
    for (let i = 0; i < count; i++) {
      const name = favourite ?? random.of(names);
      if (name === 'Words') this.#stream(name);
      else this.#send(name);
    }
    return count;
  }

  #send(name: Exclude<ModelName, 'Words'>): void {
    const random = this.#random;
    const limited = (name === 'Threads' && random.chance(0.1)) || (name === 'Levels' && random.chance(0.3));
    const parameters = {
      ...(name === 'Levels' && random.chance(0.7) ? { priority: random.integer(1, 3) } : {}),
      ...(limited ? { timeout: random.integer(200, 5000) } : {}),
    };
    const way = random.of(WAYS);
    const entry = this.#open(name, way, limited);
    this.#add(this.#requests, this.#connections.send(name, way, entry, parameters));
  }

  #stream(name: ModelName): number {
    const count = this.#random.integer(1, 6);
    const entries = Array.from({ length: count }, () => this.#open(name, 'stream'));
    this.#add(this.#requests, this.#connections.stream(name, entries));
    return count;
  }

  #open(name: ModelName, how: string, limited = false): Entry {
    const random = this.#random;
    const standing = this.#standings.get(name)!;
    const what = random.weighted(deedsOf(name) as Record<What, number>);
    if (what === 'exit') standing.kills++;
    const rows = random.chance(0.01) ? MAX_ROWS + 1 : random.chance(0.6) ? 1 : random.integer(1, MAX_ROWS);
    const shared = name === 'Cached' ? { shared: random.integer(1, QUESTIONS) } : {};
    return this.ledger.open(standing, { what, rows, how, limited, ...shared });
  }

  #add(set: Set<Promise<void>>, promise: Promise<void>): void {
    const watched = promise
      .catch((error: unknown) => this.ledger.violated(`${error instanceof Error ? error.stack : String(error)}`))
      .finally(() => set.delete(watched));
    set.add(watched);
  }

  async #pace(): Promise<void> {
    if (this.#restarting !== undefined && this.#random.chance(0.3)) await this.#restarting;
    const pace = this.#random.weighted({ none: 2, turn: 6, one: 3, all: 0.3 });
    if (pace === 'turn') await turn();
    if (pace === 'one' && this.#requests.size > 0) await Promise.race(this.#requests);
    if (pace === 'all') await Promise.race([Promise.all(this.#requests), turn()]);
    while (this.#requests.size > CROWD) await Promise.race(this.#requests);
  }

  async #rebind(name: ModelName): Promise<void> {
    const standing = this.#standings.get(name)!;
    standing.replaced = true;
    const { mark } = standing;
    try {
      await rebindModel(this.#triton, name, this.ledger, this.#standings);
    } catch (error) {
      if (!standing.disturbedSince(mark)) throw error;
    }
    standing.replaced = true;
  }

  async #bindAgain(name: ModelName): Promise<void> {
    const back = this.#standings.get(name)!.outage();
    const unbound = this.#triton.unbind(name).catch(allow('NOT_FOUND', 'UNAVAILABLE'));
    if (this.#random.chance(0.7)) await unbound;
    bindModel(this.#triton, name, this.ledger, this.#standings);
    await unbound;
    await this.#untilServed(name);
    back();
  }

  async #reload(name: ModelName): Promise<void> {
    const back = this.#standings.get(name)!.outage();
    await this.#control('unload', name);
    if (this.#random.chance(0.5)) await turn();
    await this.#untilServed(name);
    back();
  }

  /** Loads a model as often as the server is stopped meanwhile. */
  async #untilServed(name: ModelName): Promise<void> {
    for (let attempt = 0; attempt < 20; attempt++) {
      await this.#restarting;
      if ((await this.#control('load', name)) === '') return;
      await turn();
    }
    this.ledger.violated(`${name} could not be loaded: ${await this.#control('load', name)}`);
  }

  /** The error, or ''. */
  async #control(action: 'load' | 'unload', name: ModelName): Promise<string> {
    try {
      const response = await fetch(`${this.#connections.http}/v2/repository/models/${name}/${action}`, {
        method: 'POST',
      });
      return await response.text();
    } catch (error) {
      return String(error);
    }
  }

  async #restart(): Promise<void> {
    const back = [...this.#standings.values()].map((standing) => standing.outage());
    const before = this.#connections;
    const own = [...this.#requests];
    await this.#triton.stop();
    await this.#triton.run();
    this.#connect();
    for (const end of back) end();
    this.#add(
      this.#changes,
      Promise.all(own).then(() => undefined),
    );
    this.#add(
      this.#changes,
      Promise.all(this.#requests).then(() => before.close()),
    );
  }

  /** Waits until nothing is under way. False when something never ends. */
  async #calm(): Promise<boolean> {
    const deadline = performance.now() + PATIENCE_MS;
    while (this.#requests.size + this.#changes.size > 0 || this.#restarting !== undefined) {
      const left = deadline - performance.now();
      if (left <= 0) {
        this.ledger.missing();
        this.ledger.violated(`${this.#changes.size} changes never ended`);
        return false;
      }
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, left)));
      await Promise.race([late, Promise.all([...this.#requests, ...this.#changes, this.#restarting])]);
      clearTimeout(timer);
    }
    return true;
  }
}

function allow(...codes: readonly string[]): (error: unknown) => void {
  return (error) => {
    if (!codes.includes(TritonError.from(error).code)) throw error;
  };
}
