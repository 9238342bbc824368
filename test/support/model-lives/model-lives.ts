// The lives of models on one server: what a list of deeds makes of them, held against a simple model of it. The model knows which
// binding is in each place, and what nothing can have disturbed since all was last calm. What must not happen is collected, not thrown.
import { setImmediate as turn } from 'node:timers/promises';

import { Triton, TritonError } from 'tstriton';

import { answerOf, LivesMemory, responsesOf } from '../../fixtures/model-lives-instance.js';
import { MetricsText } from '../metrics-text.js';
import type { TestedRepository } from '../model-repository.js';
import { FREE_PORTS } from '../start-server.js';
import { countThreads } from '../watched-threads.js';
import { Asking, type Outcome, type Request } from './asking.js';
import { type Asked, type Declared, type Deed, type Mode, type Name, NAMES, VERSIONS } from './deeds.js';
import { type Binding, boundModel, folderModule, INSTANCES } from './models.js';

export interface LivesOptions {
  readonly mode: Mode;
  readonly serverThread: boolean;
  /** For the mode `poll`. */
  readonly repository: TestedRepository;
}

/** A request under way. */
interface Open extends Request {
  readonly sentAt: number;
  /** What it must be answered by; undefined when deeds may decide that. */
  sure: { readonly binding: number | undefined } | undefined;
}

/** What is bound under a name and version. */
interface Place {
  binding: Binding;
}

/** Longer than anything may take, however slow the machine is. */
const PATIENCE_MS = 60_000;
const MOST_REQUESTS = 20_000;
const CROWD = 100;
const FOLDER = 'F';
/** Numbers of folders begin here: those of bindings are below. */
const FIRST_FOLDER = 1_000_000;

/** What requests are told whose model, instance or server is not there. */
const OUTAGE =
  /Request for unknown model|requested model|not at ready state|is not ready|Server (is stopping|exiting|not ready)|ended while it was working|server (is|was) stop|has ended|^connection: |^(14|1) |stream ended: (1|2|13|14) /;
/** What deeds reject with, where others are under way. */
const REFUSED =
  /is not bound|was unbound|a later change|was stopped|does not run|told not to start|has ended|Server exiting|server is (given up|stopped)/;

export class ModelLives {
  readonly violations: string[] = [];
  readonly counts = { deeds: 0, requests: 0, answered: 0, sure: 0 };
  readonly #options: LivesOptions;
  readonly #triton: Triton;
  readonly #memory: LivesMemory;
  readonly #bindings: Binding[] = [];
  readonly #places = new Map<string, Place>();
  readonly #open = new Set<Open>();
  readonly #running = new Set<Promise<void>>();
  /** What has been done to names since all was calm. */
  readonly #disturbed = new Set<string>(NAMES);
  /** By name and version, which binding answered when all was calm. */
  readonly #serving = new Map<string, number>();
  #folder: { readonly number: number; readonly content: 'answers' | 'broken' | 'gone' } = {
    number: 0,
    content: 'gone',
  };
  #asking!: Asking;
  #restarting: Promise<void> | undefined;
  #number = 0;

  constructor(deeds: readonly Deed[], options: LivesOptions) {
    this.#options = options;
    const declared = deeds.filter(({ deed }) => deed === 'bind' || deed === 'rebind').length;
    this.#memory = LivesMemory.create(declared + 1, MOST_REQUESTS);
    const { mode, serverThread, repository } = options;
    this.#triton = new Triton({
      ...FREE_PORTS,
      serverThread,
      exitOnError: false,
      modelControlMode: mode,
      restrictedEndpoints: [],
      ...(mode === 'explicit' && { loadModel: '*' }),
      ...(mode === 'poll' && { modelRepository: repository.path, repositoryPollSecs: 3600 }),
    });
  }

  /** Does all of it; what was wrong is in `violations`. */
  async live(deeds: readonly Deed[]): Promise<void> {
    using threads = countThreads();
    const listeners = listenersOf();
    await this.#triton.run();
    this.#asking = new Asking(this.#triton);
    try {
      for (const deed of deeds) {
        this.counts.deeds++;
        this.#do(deed);
        await this.#pace(deed);
        if (this.violations.length > 0) return;
      }
      await this.#calm();
    } finally {
      await this.#ends(
        Promise.resolve(this.#restarting).catch(() => undefined),
        'a restart',
      );
      this.#asking.close();
      await this.#ends(this.#triton.stop(), 'the last stop');
    }
    await this.#until(() => [
      ...(threads.living === 0 ? [] : [`${threads.living} threads are left`]),
      ...this.#bindings.flatMap((binding) => this.#countsOf(binding, false)),
      ...[listenersOf()].filter((left) => left !== listeners).map((left) => `listeners are left: ${listeners} ${left}`),
    ]);
    const { violations } = this.#memory;
    if (violations > 0) this.violations.push(`${violations} violations seen by callables, see standard error`);
  }

  #do(deed: Deed): void {
    switch (deed.deed) {
      case 'requests':
        return this.#ask(deed.name, deed.asked);
      case 'bind':
        return this.#bind(deed.name, deed.declared);
      case 'rebind':
        return this.#rebind(deed.name, deed.declared);
      case 'unbind':
        return this.#unbind(deed.name, deed.version);
      case 'load': {
        const config = deed.rows === undefined ? {} : { max_batch_size: deed.name === 'W' ? 0 : deed.rows };
        return this.#control(deed.name, 'load', deed.rows === undefined ? {} : { config: JSON.stringify(config) });
      }
      case 'unload':
        return this.#control(deed.name, 'unload', {});
      case 'crash':
        return this.#crash(deed.name, deed.version);
      case 'folder':
        return this.#write(deed.content);
      case 'poll':
        return this.#poll();
      case 'restart':
        return this.#restart();
      case 'calm':
        return;
    }
  }

  async #pace({ deed, pace }: Deed): Promise<void> {
    if (deed === 'calm') return this.#calm();
    if (pace === 'turn') await turn();
    if (pace === 'one' && this.#running.size > 0) await this.#ends(Promise.race(this.#running), 'any of all');
    if (pace === 'all') await this.#ends(Promise.all(this.#running), 'what is under way');
    while (this.#open.size > CROWD && this.violations.length === 0)
      await this.#ends(Promise.race(this.#running), 'any request');
  }

  #declare(name: Name, declared: Declared): Binding {
    const binding = {
      ...declared,
      name,
      binding: this.#bindings.length + 1,
      boundAt: performance.now(),
      goneAt: Infinity,
    };
    this.#bindings.push(binding);
    this.#memory.add(binding.binding, 'failuresLeft', declared.failures);
    return binding;
  }

  #bind(name: Name, declared: Declared): void {
    this.#disturb(name);
    const key = `${name}/${declared.version}`;
    const isTaken = this.#places.has(key);
    const binding = this.#declare(name, declared);
    try {
      this.#triton.bind(boundModel(binding, this.#memory));
      if (isTaken) this.violations.push(`${key} was bound twice`);
      this.#places.set(key, { binding });
      // A version that is there is ready at some time, or has failed.
      this.#run(this.#triton.ready(name), `ready(${name})`);
    } catch (error) {
      binding.goneAt = -Infinity;
      if (!isTaken || TritonError.from(error).code !== 'ALREADY_EXISTS')
        this.violations.push(`bind ${key}: ${String(error)}`);
    }
  }

  #rebind(name: Name, declared: Declared): void {
    this.#disturb(name);
    const place = this.#places.get(`${name}/${declared.version}`);
    const binding = this.#declare(name, declared);
    const done = this.#triton.rebind(boundModel(binding, this.#memory)).then(
      async () => {
        const { binding: present } = place!;
        // It resolves when the old one has ended. Meanwhile another one may have replaced it, and resolved.
        const isLatest = present.binding < binding.binding;
        if (isLatest) place!.binding = binding;
        // A server that stops serves on for a while what was bound when it began to.
        await this.#restarting?.catch(() => undefined);
        (isLatest ? present : binding).goneAt = performance.now();
      },
      (error: unknown) => {
        // One that was unbound or stopped while it loaded may serve until the unbind or the stop is over.
        if (/told not to start/.test(TritonError.from(error).message)) binding.goneAt = performance.now();
        throw error;
      },
    );
    this.#run(done, `rebind ${name}/${declared.version}`);
  }

  #unbind(name: Name, version: number): void {
    this.#disturb(name);
    const removed = VERSIONS.filter((one) => version === 0 || one === version).flatMap((one) => {
      const place = this.#places.get(`${name}/${one}`);
      this.#places.delete(`${name}/${one}`);
      return place ?? [];
    });
    const unbound = this.#triton.unbind(name, version === 0 ? undefined : version).then(() => {
      for (const { binding } of removed) binding.goneAt = performance.now();
    });
    this.#run(unbound, `unbind ${name}/${version}`);
  }

  #control(name: Name, action: 'load' | 'unload', parameters: object): void {
    this.#disturb(name);
    const sent = fetch(`${this.#asking.http}/v2/repository/models/${name}/${action}`, {
      method: 'POST',
      body: JSON.stringify({ parameters }),
    }).then(
      async (response) => {
        const text = await response.text();
        const known =
          /^$|failed to poll|told not to start|Server exiting|was stopped|at least one version|all instances have ended|a later change/;
        if (!known.test(text)) this.violations.push(`${action} ${name}: ${text}`);
      },
      // The server was stopped.
      () => undefined,
    );
    this.#run(sent, `${action} ${name}`);
  }

  #crash(name: Name, version: number): void {
    const bound = VERSIONS.flatMap((one) => this.#places.get(`${name}/${one}`) ?? []);
    const crashes = bound.filter(({ binding }) => version === 0 || binding.version === version);
    if (!crashes.some(({ binding }) => INSTANCES[binding.kind].threads > 0)) return;
    this.#disturb(name);
    for (const { binding } of crashes) {
      const request = { name, version: binding.version, what: 'exit', rows: 1, leaves: undefined } as const;
      if (name === 'W') this.#stream([this.#opened(request)]);
      else this.#send(request, 'json');
    }
  }

  #write(content: 'answers' | 'broken' | 'gone'): void {
    const { repository } = this.#options;
    this.#disturb(FOLDER);
    const number = this.#folder.number + 1;
    this.#folder = { number, content };
    if (content === 'gone') repository.remove(FOLDER);
    else
      repository.write(
        `${FOLDER}/1/model.mjs`,
        content === 'broken' ? `broken(${number}` : folderModule(FIRST_FOLDER + number),
      );
  }

  #poll(): void {
    this.#disturb(FOLDER);
    this.#run(this.#triton.pollModelRepository(), 'poll');
  }

  #restart(): void {
    if (this.#restarting !== undefined) return;
    for (const name of [...NAMES, FOLDER]) this.#disturb(name);
    const before = this.#asking;
    const again = async () => {
      await this.#triton.stop();
      await this.#triton.run();
      this.#asking = new Asking(this.#triton);
      // Everything that was asked there has ended, or is about to.
      before.close();
    };
    this.#restarting = again().finally(() => (this.#restarting = undefined));
    this.#run(this.#restarting, 'restart');
  }

  #ask(name: Name, asked: readonly Asked[]): void {
    const [streamed, lost]: [Open[], Open[]] = [[], []];
    for (const one of asked) {
      const way = name === 'W' ? 'stream' : one.way;
      const rows = name === 'W' ? 1 : one.rows;
      // A client of one request that calls by gRPC stays.
      const leaves = way === 'grpc' ? undefined : one.leaves;
      const request = { ...one, name, rows, leaves };
      if (way !== 'stream') this.#send(request, way);
      else (leaves === undefined ? streamed : lost).push(this.#opened(request));
    }
    for (const requests of [streamed, lost]) if (requests.length > 0) this.#stream(requests);
  }

  /** All of them on one stream. */
  #stream(requests: readonly Open[]): void {
    const ended = this.#asking.stream(requests).then((outcomes) => {
      for (const [index, outcome] of outcomes.entries()) this.#ended(requests[index]!, outcome);
    });
    this.#run(ended, `${requests.length} requests on a stream of ${requests[0]!.name}`);
  }

  #send(request: Omit<Request, 'number'>, way: 'json' | 'grpc'): void {
    const open = this.#opened(request);
    const ended = this.#asking[way](open).then((outcome) => this.#ended(open, outcome));
    this.#run(ended, `request ${open.number} of ${request.name}/${request.version} by ${way}`);
  }

  #opened(request: Omit<Request, 'number'>): Open {
    this.counts.requests++;
    const { name, version } = request;
    const own = VERSIONS.filter((one) => (version === 0 || one === version) && this.#serving.has(`${name}/${one}`));
    const sure = this.#disturbed.has(name) ? undefined : { binding: this.#serving.get(`${name}/${own.at(-1)}`) };
    const open: Open = { ...request, number: ++this.#number, sentAt: performance.now(), sure };
    this.#open.add(open);
    return open;
  }

  #ended(open: Open, outcome: Outcome): void {
    this.#open.delete(open);
    const { number, name, version, what, rows, sure, leaves, sentAt } = open;
    const wrong = (text: string) =>
      void this.violations.push(`request ${number} of ${name}/${version} (${what}): ${text}`);
    if (outcome.kind === 'gone') return leaves === undefined ? wrong('its client never went') : undefined;
    if (outcome.kind === 'failure') {
      const { text } = outcome;
      if (text.endsWith(`told to fail ${number}`) && (what === 'fail' || what === 'exit')) return;
      if (!OUTAGE.test(text)) return wrong(text);
      if (sure?.binding !== undefined) wrong(`${text}, though nothing had happened to binding ${sure.binding}`);
      return;
    }
    this.counts.answered++;
    if (what === 'fail' || what === 'exit') return wrong('answered');
    const count = name === 'W' ? responsesOf(number) : rows;
    const by = outcome.values[3];
    if (name === 'W' && count === 0) return outcome.values.length > 0 ? wrong('answered with something') : undefined;
    const binding = this.#bindings[by! - 1];
    const expected = binding && answerOf(number, count, binding);
    if (binding === undefined || String(outcome.values) !== String(expected))
      return wrong(`answered with ${outcome.values.join(' ')}`);
    if (binding.name !== name || (version !== 0 && binding.version !== version))
      wrong(`answered by ${JSON.stringify(binding)}`);
    if (outcome.version !== String(binding.version)) wrong(`answered as version ${outcome.version}`);
    if (binding.goneAt < sentAt) wrong(`answered by binding ${by}, which was gone before`);
    if (sure !== undefined) this.counts.sure++;
    if (sure !== undefined && sure.binding !== by) wrong(`answered by binding ${by} instead of ${sure.binding}`);
  }

  /** From now on nobody knows what becomes of requests for it, until all is calm. */
  #disturb(name: string): void {
    this.#disturbed.add(name);
    for (const open of this.#open) if (open.name === name) open.sure = undefined;
  }

  #run(promise: Promise<unknown>, what: string): void {
    const watched = promise
      .then(
        () => undefined,
        (error: unknown) => {
          const { message } = TritonError.from(error);
          if (!REFUSED.test(message)) this.violations.push(`${what}: ${message}`);
        },
      )
      .finally(() => this.#running.delete(watched));
    this.#running.add(watched);
  }

  /** Whatever never ends is a violation. */
  async #ends(promise: Promise<unknown>, what: string): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<string>((resolve) => (timer = setTimeout(resolve, PATIENCE_MS, 'late')));
    if ((await Promise.race([promise, late])) === 'late') {
      const requests = [...this.#open].map(({ number, name, version }) => `${number} of ${name}/${version}`);
      this.violations.push(`never ends: ${what}; ${this.#running.size} under way, requests ${requests.join(', ')}`);
    }
    clearTimeout(timer);
  }

  /** Waits until nothing is under way, and looks at everything. */
  async #calm(): Promise<void> {
    while (this.#running.size > 0 && this.violations.length === 0)
      await this.#ends(Promise.all(this.#running), 'what is under way');
    if (this.violations.length > 0) return;
    if (this.#options.mode === 'poll') await this.#ends(this.#triton.pollModelRepository(), 'a poll');
    await this.#until(() => this.#look());
    this.#disturbed.clear();
  }

  /** What is wrong may right itself soon: threads are started again, and are told of later. */
  async #until(look: () => string[] | Promise<string[]>): Promise<void> {
    const deadline = performance.now() + PATIENCE_MS;
    for (;;) {
      const wrong = await look();
      if (wrong.length === 0) return;
      if (performance.now() > deadline) return void this.violations.push(...wrong);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  async #look(): Promise<string[]> {
    const { http, metrics } = this.#asking;
    const wrong: string[] = [];
    const response = await fetch(`${http}/v2/repository/index`, { method: 'POST', body: '{}' });
    const index = (await response.json()) as { name: string; version?: string; state?: string; reason?: string }[];
    const text = await MetricsText.of(metrics);
    this.#serving.clear();
    let isReady = true;
    for (const name of NAMES) {
      for (const version of VERSIONS) {
        const key = `${name}/${version}`;
        const { state = '', reason = '' } =
          index.find((line) => line.name === name && line.version === String(version)) ?? {};
        const binding = this.#places.get(key)?.binding;
        const serves = state === 'READY';
        if (!serves && state !== '' && reason !== 'unloaded') isReady = false;
        if (binding === undefined && state !== '') wrong.push(`${key} is ${state} (${reason}), but is not bound`);
        if (binding === undefined) continue;
        const may =
          reason === 'unloaded'
            ? this.#options.mode === 'explicit'
            : /told not to start/.test(reason) && binding.failures > 0;
        if (!serves && !may) wrong.push(`${key} is ${state}: ${reason}`);
        const { here, threads } = INSTANCES[binding.kind];
        const instances = text.value('tstriton_instances', { model: name, version: String(version) });
        if (serves && instances !== here + threads) wrong.push(`${key} has ${instances} instances`);
        if (serves) this.#serving.set(key, binding.binding);
      }
    }
    const served = new Set(this.#serving.values());
    for (const binding of this.#bindings) wrong.push(...this.#countsOf(binding, served.has(binding.binding)));
    const folder = index.find((line) => line.name === FOLDER);
    const { content, number } = this.#folder;
    if (content === 'gone' && folder !== undefined) wrong.push(`the folder is gone and its model ${folder.state}`);
    if (content === 'answers') wrong.push(...(await this.#folderAnswers(FIRST_FOLDER + number)));
    if (content === 'broken') isReady = folder?.state === 'READY' && isReady && (await this.#health());
    if ((await this.#health()) !== isReady || this.#triton.isReady !== isReady)
      wrong.push(`the server is ${await this.#health()}, triton ${this.#triton.isReady}, and should be ${isReady}`);
    for (const { name, labels, value } of text.samples)
      if (name === 'nv_inference_pending_request_count' && value > 0)
        wrong.push(`${value} requests of ${labels['model']} wait`);
    return wrong;
  }

  async #health(): Promise<boolean> {
    return (await fetch(`${this.#asking.http}/v2/health/ready`)).ok;
  }

  async #folderAnswers(binding: number): Promise<string[]> {
    const number = ++this.#number;
    const outcome = await this.#asking.json({
      number,
      name: FOLDER,
      version: 0,
      what: 'answer',
      rows: 2,
      leaves: undefined,
    });
    const text = outcome.kind === 'answer' ? String(outcome.values) : JSON.stringify(outcome);
    return text === String(answerOf(number, 2, { version: 1, binding })) ? [] : [`the folder's model said ${text}`];
  }

  /** What is open of a binding, and should not be, or the other way round. */
  #countsOf({ binding, kind, name, version }: Binding, isServed: boolean): string[] {
    const count = (what: string) => this.#memory.get(binding, what);
    const here = count('hereSetUp') - count('hereTornDown');
    const threads = count('setUp') - count('tornDown') - count('exits');
    const expected = isServed ? INSTANCES[kind] : { here: 0, threads: 0 };
    const isRight = here === Math.min(1, expected.here) && threads === expected.threads;
    if (isRight) return [];
    return [
      `binding ${binding} of ${name}/${version} (${kind}) is set up ${here} and ${threads} times, served: ${isServed}`,
    ];
  }
}

/** How many listeners this process has. */
function listenersOf(): string {
  return process
    .eventNames()
    .map((name) => `${String(name)} ${process.listenerCount(name)}`)
    .sort()
    .join(', ');
}
