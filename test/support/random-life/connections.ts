// The clients of a random life, for one run of its server: each sends requests, may hang up, and writes down how they end.
import { setImmediate as turn, setTimeout as delay } from 'node:timers/promises';

import { TritonError, type Triton } from 'tstriton';
import { ModelClient } from 'tstriton/client';

import { GrpcService, inferMessage, type GrpcStream, type Message, type StreamMessage } from '../grpc-client.js';
import type { Entry, Ledger } from './ledger.js';
import { LostStreams } from './lost-streams.js';
import { rowsOf, specOf, wordsOf, type ModelName } from './models.js';
import type { Random } from './random.js';

export const WAYS = ['json', 'http', 'grpc'] as const;
export type Way = (typeof WAYS)[number];
export type RequestParameters = Readonly<Record<string, number>>;

export class Connections {
  readonly #ledger: Ledger;
  readonly #random: Random;
  readonly #clients = new Map<string, ModelClient>();
  readonly #grpc: GrpcService;
  readonly #lost: LostStreams;
  readonly http: string;
  readonly metrics: string;
  readonly #grpcUrl: string;

  constructor(triton: Triton, ledger: Ledger, random: Random) {
    this.#ledger = ledger;
    this.#random = random;
    this.http = `http://127.0.0.1:${triton.httpPort}`;
    this.metrics = `http://127.0.0.1:${triton.metricsPort}/metrics`;
    this.#grpcUrl = `grpc://127.0.0.1:${triton.grpcPort}`;
    this.#grpc = new GrpcService(this.#grpcUrl);
    this.#lost = new LostStreams(`http://127.0.0.1:${triton.grpcPort}`);
  }

  async close(): Promise<void> {
    this.#grpc[Symbol.dispose]();
    this.#lost.close();
    await Promise.all([...this.#clients.values()].map((client) => client.close()));
  }

  /** Settles when the request is over. */
  async send(model: Exclude<ModelName, 'Words'>, way: Way, entry: Entry, parameters: RequestParameters): Promise<void> {
    const hangUp = this.#random.chance(0.06) ? this.#hangUp(entry) : undefined;
    try {
      const send =
        way === 'json'
          ? this.#sendJson(model, entry, parameters, hangUp)
          : this.#sendBy(way, model, entry, parameters, hangUp);
      this.#ledger.answered(entry, await send);
    } catch (thrown) {
      const { code, message, cause } = TritonError.from(thrown);
      const reason = cause instanceof Error ? ` (${cause.message})` : '';
      this.#ledger.failed(
        entry,
        code === 'CANCELLED' ? `CANCELLED ${message}` : `${message}${/fetch failed/.test(message) ? reason : ''}`,
      );
    }
  }

  #hangUp(entry: Entry): AbortSignal {
    const controller = new AbortController();
    const abort = () => {
      this.#ledger.aborted(entry);
      controller.abort();
    };
    const after = this.#random.integer(-2, 6);
    if (after === -2) queueMicrotask(abort);
    else if (after === -1) setImmediate(abort);
    else setTimeout(abort, after);
    return controller.signal;
  }

  async #sendJson(
    model: string,
    entry: Entry,
    parameters: RequestParameters,
    signal?: AbortSignal,
  ): Promise<ArrayLike<number>> {
    const { data, shape } = rowsOf(entry);
    const inputs = [{ name: 'x', datatype: 'INT32', shape, data: Array.from(data) }];
    const response = await fetch(`${this.http}/v2/models/${model}/infer`, {
      method: 'POST',
      body: JSON.stringify({ id: idOf(entry), inputs, parameters }),
      ...(signal === undefined ? {} : { signal }),
    });
    const answer = (await response.json()) as { id?: string; error?: string; outputs: { data: number[] }[] };
    const { id, error, outputs } = answer;
    if (error !== undefined) throw new TritonError('UNKNOWN', error.replace(/^\[request id: [\d.]+\] /, ''));
    if (id !== idOf(entry))
      this.#ledger.violated(`request ${entry.number} of ${model} was answered with the id '${id}'`);
    return outputs[0]!.data;
  }

  async #sendBy(
    way: 'http' | 'grpc',
    model: Exclude<ModelName, 'Words'>,
    entry: Entry,
    parameters: RequestParameters,
    signal?: AbortSignal,
  ): Promise<ArrayLike<number>> {
    const key = `${way} ${model}`;
    let client = this.#clients.get(key);
    if (client === undefined) {
      client = new ModelClient(way === 'http' ? this.http : this.#grpcUrl, specOf(model)) as unknown as ModelClient;
      this.#clients.set(key, client);
    }
    const options = { requestId: idOf(entry), parameters, ...(signal === undefined ? {} : { signal }) };
    const { y } = await client.inferBatch({ x: rowsOf(entry) }, options);
    return y!.data as Int32Array;
  }

  /** Requests of a model on one stream; settles when it is over. Answers of Ordered must come in order. */
  async stream(model: ModelName, entries: readonly Entry[]): Promise<void> {
    if (model === 'Words') for (const entry of entries) entry.rows = wordsOf(entry.number);
    if (this.#random.chance(0.15)) return this.#loseStream(model, entries);
    const stream = this.#grpc.stream();
    const open = new Map(entries.map((entry) => [String(entry.number), { entry, values: [] as number[] }]));
    for (const entry of entries) {
      stream.send(streamMessage(model, entry));
      if (this.#random.chance(0.2)) await turn();
    }
    const ended = stream.end();
    const { code, details } = await ended;
    this.#read(model, stream, open);
    for (const { entry } of open.values()) this.#ledger.failed(entry, `stream ended: ${code} ${details}`);
    if (code === 0 && open.size > 0) this.#ledger.violated(`a stream ended OK without ${open.size} answers`);
  }

  async #loseStream(model: ModelName, entries: readonly Entry[]): Promise<void> {
    const messages = entries.map((entry) => streamMessage(model, entry));
    const patience = this.#random.integer(0, 3);
    const until = patience === 0 ? turn() : delay(patience);
    for (const entry of entries) this.#ledger.aborted(entry);
    await this.#lost.send(messages, until);
    for (const entry of entries) this.#ledger.failed(entry, 'CANCELLED with its stream');
  }

  #read(
    model: ModelName,
    { messages }: GrpcStream,
    open: Map<string, { readonly entry: Entry; readonly values: number[] }>,
  ): void {
    let last = 0;
    for (const message of messages) {
      const { error_message: error = '', infer_response: response } = message as unknown as StreamMessage;
      const id = response.id ?? '';
      const found = open.get(id);
      if (found === undefined) {
        this.#ledger.violated(`a stream of ${model} has an answer too much, for '${id}': '${error}'`);
        continue;
      }
      const { entry, values } = found;
      if (error === '') {
        const bytes = response.raw_output_contents?.[0];
        for (let at = 0; at < (bytes?.length ?? 0); at += 4) values.push(bytes!.readInt32LE(at));
        if (response.parameters?.['triton_final_response']?.['bool_param'] !== true) continue;
        this.#ledger.answered(entry, values);
      } else {
        this.#ledger.failed(entry, error);
      }
      open.delete(id);
      if (model === 'Ordered' && entry.number < last) this.#ledger.violated(`${id} was answered after ${last}`);
      last = entry.number;
    }
  }
}

/** Requests differ in the length of their heads too; some are longer than what a connection copies. */
function idOf({ number }: Entry): string {
  return String(number).padEnd(number % 100 === 99 ? 20_000 : 6 + ((number * 7) % 300), '.');
}

function streamMessage(model: ModelName, entry: Entry): Message {
  const { data, shape } = rowsOf(model === 'Words' ? { ...entry, rows: 1 } : entry);
  const raw = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  return inferMessage(model, [{ name: 'x', datatype: 'INT32', shape: model === 'Words' ? [3] : [...shape], raw }], {
    id: String(entry.number),
    parameters: { triton_enable_empty_final_response: { bool_param: true } },
  });
}
