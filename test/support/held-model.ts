// A model whose batches last until a test ends them, and what came of the requests to it.
import { TritonError, type InferenceRequest, type ModelConfig, type Triton } from 'tstriton';
import { ModelClient, type InferOptions } from 'tstriton/client';

import { gate, type RunningServer } from './start-server.js';
import { WAIT_MILLISECONDS } from './waiting.js';

const TENSORS = {
  inputs: { x: { dtype: 'float32', shape: [-1] } },
  outputs: { y: { dtype: 'float32', shape: [-1] } },
} as const;

export class HeldModel {
  readonly name: string;
  /** The ids of each batch that began, in order: `a b`. */
  readonly batches: string[] = [];
  /** Rows of each batch. */
  readonly rows: number[] = [];
  /** Ids of requests whose signal fired while they ran. */
  readonly aborted: string[] = [];
  /** Ids that the callable answers with an error of their own. */
  readonly failing = new Set<string>();
  readonly #config: ModelConfig;
  readonly #instances: number;
  #open = false;
  #running: (() => void)[] = [];
  #watchers: (() => void)[] = [];

  constructor(config: ModelConfig = {}, { name = 'Held', instances = 1 } = {}) {
    this.name = name;
    this.#config = config;
    this.#instances = instances;
  }

  bind(triton: Triton): void {
    const callable = (requests: readonly InferenceRequest<typeof TENSORS.inputs>[]) => this.#run(requests);
    triton.bind({
      modelName: this.name,
      ...TENSORS,
      config: this.#config,
      inferFunc: Array.from({ length: this.#instances }, () => callable),
    });
  }

  /** Resolves when so many batches have begun. */
  async began(count: number): Promise<void> {
    while (this.batches.length < count) await new Promise<void>((resolve) => this.#watchers.push(resolve));
  }

  /** Resolves when the signal of a request that runs has fired. */
  async abortedOne(id: string): Promise<void> {
    while (!this.aborted.includes(id)) await new Promise<void>((resolve) => this.#watchers.push(resolve));
  }

  /** Ends the batch that began first. */
  end(): void {
    this.#running.shift()?.();
  }

  /** Ends the batch that began last. */
  endLast(): void {
    this.#running.pop()?.();
  }

  /** Ends all batches, and those to come as soon as they begin. */
  open(): void {
    this.#open = true;
    for (const end of this.#running.splice(0)) end();
  }

  async #run(requests: readonly InferenceRequest<typeof TENSORS.inputs>[]) {
    for (const { id, signal } of requests) {
      signal.addEventListener('abort', () => {
        this.aborted.push(id);
        this.#notify();
      });
    }
    const { open, opened } = gate();
    this.batches.push(requests.map(({ id }) => id).join(' '));
    this.rows.push(requests.reduce((sum, { inputs }) => sum + inputs.x.shape[0]!, 0));
    if (this.#open) open();
    else this.#running.push(open);
    this.#notify();
    await opened;
    return requests.map(({ id, inputs }) =>
      this.failing.has(id) ? new TritonError('INTERNAL', 'asked to fail') : { y: inputs.x },
    );
  }

  #notify(): void {
    for (const notify of this.#watchers.splice(0)) notify();
  }
}

export interface Asked {
  readonly rows?: number;
  /** Of a row. */
  readonly length?: number;
  readonly parameters?: InferOptions['parameters'];
  readonly signal?: AbortSignal;
  readonly wire?: 'http' | 'grpc';
}

/** Clients of one held model on both wires. */
export class HeldModelClients implements AsyncDisposable {
  readonly #server: RunningServer;
  readonly #model: string;
  readonly #clients: Readonly<Record<'http' | 'grpc', ModelClient>>;
  /** Ids in the order of their answers. */
  readonly answered: string[] = [];

  constructor(server: RunningServer, { name }: HeldModel) {
    this.#server = server;
    this.#model = name;
    const spec = { modelName: name, ...TENSORS };
    // Each request is counted: none is sent again.
    const options = { retry: false } as const;
    this.#clients = {
      http: new ModelClient(server.http, spec, options),
      grpc: new ModelClient(server.grpc, spec, options),
    };
  }

  /** Asks, and tells what came of it: `ok`, or `CODE message`. */
  async ask(id: string, { rows = 1, length = 1, parameters, signal, wire = 'http' }: Asked = {}): Promise<string> {
    const x = Array.from({ length: rows }, () => Array.from({ length }, () => 1));
    const options = { requestId: id, ...(parameters && { parameters }), ...(signal && { signal }) };
    let outcome = 'ok';
    try {
      await this.#clients[wire].inferBatch({ x }, options);
    } catch (error) {
      const { code, message } = TritonError.from(error);
      outcome = `${code} ${message}`;
    }
    this.answered.push(id);
    return outcome;
  }

  /** Asks one after the other, so that they arrive in this order: each waits in the queue before the next is sent. */
  async queue(ids: string, asked: Asked | ((id: string) => Asked) = {}): Promise<Promise<string>[]> {
    const outcomes: Promise<string>[] = [];
    const before = await this.pending();
    for (const id of ids) {
      outcomes.push(this.ask(id, typeof asked === 'function' ? asked(id) : asked));
      await this.waiting(before + outcomes.length);
    }
    return outcomes;
  }

  /** Requests that wait in the queue. */
  async pending(): Promise<number> {
    return this.metric('nv_inference_pending_request_count');
  }

  /** Resolves when so many requests wait. */
  async waiting(count: number): Promise<void> {
    const deadline = performance.now() + WAIT_MILLISECONDS;
    for (let now = await this.pending(); now !== count; now = await this.pending()) {
      if (performance.now() > deadline) throw new Error(`${now} requests wait, expected ${count}`);
    }
  }

  /** A metric of the model; 0 when it is not there. */
  async metric(name: string, labels: Readonly<Record<string, string>> = {}): Promise<number> {
    const text = await (await fetch(this.#server.metrics)).text();
    const wanted = Object.entries({ model: this.#model, ...labels }).map(([key, value]) => `${key}="${value}"`);
    const line = text
      .split('\n')
      .find((one) => one.startsWith(`${name}{`) && wanted.every((label) => one.includes(label)));
    return line === undefined ? 0 : Number(line.slice(line.lastIndexOf(' ')));
  }

  async statistics(): Promise<ModelStatisticsJson> {
    const response = await fetch(`${this.#server.http}/v2/models/${this.#model}/stats`);
    return ((await response.json()) as { readonly model_stats: [ModelStatisticsJson] }).model_stats[0];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.#clients.http.close(), this.#clients.grpc.close()]);
  }
}

type Counted = { readonly count: number; readonly ns: number };

export interface ModelStatisticsJson {
  readonly inference_count: number;
  readonly execution_count: number;
  readonly inference_stats: Readonly<
    Record<
      'success' | 'fail' | 'queue' | 'compute_input' | 'compute_infer' | 'compute_output' | 'cache_hit' | 'cache_miss',
      Counted
    >
  >;
  readonly batch_stats: readonly { readonly batch_size: number; readonly compute_infer: Counted }[];
}
