// Our own client: over both wires, in both forms of tensors, and as it is built for browsers.
import { setTimeout as later } from 'node:timers/promises';

import { Tensor, type ModelSpec } from 'tstriton';
import * as node from 'tstriton/client';

import { CLIENTS, type ClientForm, type ClientKind } from '../clients.js';
import type { RunningServer } from '../start-server.js';
import { specs } from './matrix-models.js';
import { HEADER, type ModelName, type Question } from './question.js';
import {
  ALL_MODELS,
  FETCH_KEEPS_ABORTED_SOCKETS,
  forwarded,
  generated,
  type Link,
  type ReceivedAnswer,
  type Way,
} from './way.js';

type AnyClient = Pick<node.ModelClient, 'inferSample' | 'inferBatch' | 'streamSample' | 'stream' | 'close'>;

const JSON_BYTES = 1_100_000;
/** Clients that ask the Triton of this process without a wire. */
const OF_THE_TRITON: Omit<ClientForm, 'start'> = {
  ...node,
  protocol: 'grpc',
  at: ({ triton }: RunningServer) => triton,
};
const FORMS = { ...CLIENTS, triton: OF_THE_TRITON };
const STREAMED = { http: { mostStreamed: JSON_BYTES }, grpc: {} } as const;

export function ourWay(kind: ClientKind | 'triton', weight: number, binaryData = true): Way {
  const form = FORMS[kind];
  return {
    limits: { models: ALL_MODELS, mostBytes: binaryData ? 20_000_000 : JSON_BYTES, ...STREAMED[form.protocol] },
    weight,
    isLocal: kind === 'triton',
    isPatient: kind === 'browser' && FETCH_KEEPS_ABORTED_SOCKETS,
    // Streams over HTTP are generate requests.
    adds: (question) =>
      form.protocol === 'http' && question.model === 'Stream' ? generated(question) : forwarded(question),
    open(server): Link {
      const clients = new Map<ModelName, AnyClient>();
      const options = { retry: false, timeoutMs: 300_000, ...(binaryData ? {} : { binaryData }) } as const;
      const clientOf = (model: ModelName) => {
        const known = clients.get(model);
        if (known !== undefined) return known;
        const made = new form.ModelClient(form.at(server), specs[model] as ModelSpec, options) as unknown as AnyClient;
        clients.set(model, made);
        return made;
      };
      return {
        ask: (question, signal) => ask(clientOf(question.model), question, signal),
        close: async () => void (await Promise.all([...clients.values()].map((client) => client.close()))),
      };
    },
  };
}

async function ask(client: AnyClient, question: Question, signal: AbortSignal): Promise<readonly ReceivedAnswer[]> {
  const { id, parameters, header, model, manners } = question;
  const inputs = inputsOf(question);
  const options = { requestId: id, parameters, headers: { [HEADER]: header }, signal };
  if (model === 'Stream') {
    const answers: ReceivedAnswer[] = [];
    for await (const outputs of client.streamSample(inputs, options)) {
      answers.push(received(outputs));
      if (manners.isSlow) await later(1);
    }
    return answers;
  }
  const isBatching = specs[model].config?.batching !== false;
  return [received(await (isBatching ? client.inferBatch(inputs, options) : client.inferSample(inputs, options)))];
}

/** Requests to one model on a stream that they share. Nobody gives up: a stream has one signal. */
export const ourStreams: Way = {
  limits: { models: { ...ALL_MODELS, Cached: 0 }, mostBytes: 2_000_000 },
  weight: 8,
  isPatient: true,
  adds: () => ({}),
  open({ grpc }): Link {
    const clients = new Map<ModelName, SharedStreams>();
    return {
      ask(question) {
        const { model } = question;
        const known = clients.get(model) ?? new SharedStreams(grpc, specs[model] as ModelSpec);
        clients.set(model, known);
        return known.ask(question);
      },
      close: async () => void (await Promise.all([...clients.values()].map((streams) => streams.close()))),
    };
  },
};

const REQUESTS_OF_A_STREAM = 40;

interface Waiting {
  readonly answers: ReceivedAnswer[];
  readonly resolve: (answers: readonly ReceivedAnswer[]) => void;
  readonly reject: (error: unknown) => void;
}

class SharedStreams {
  readonly #client: AnyClient;
  readonly #isBatching: boolean;
  #stream: ReturnType<AnyClient['stream']> | undefined;
  #waiting = new Map<string, Waiting>();
  #asked = 0;

  constructor(url: string, spec: ModelSpec) {
    this.#client = new node.ModelClient(url, spec, { retry: false, timeoutMs: 300_000 }) as unknown as AnyClient;
    this.#isBatching = spec.config?.batching !== false;
  }

  async ask(question: Question): Promise<readonly ReceivedAnswer[]> {
    const { id, parameters } = question;
    if (this.#stream === undefined)
      void this.#read((this.#stream = this.#client.stream()), (this.#waiting = new Map()));
    const stream = this.#stream;
    const waiting = this.#waiting;
    const answered = new Promise<readonly ReceivedAnswer[]>((resolve, reject) =>
      waiting.set(id, { answers: [], resolve, reject }),
    );
    if (++this.#asked % REQUESTS_OF_A_STREAM === 0) this.#stream = undefined;
    const options = { requestId: id, parameters };
    const sent = this.#isBatching
      ? stream.sendBatch(inputsOf(question), options)
      : stream.send(inputsOf(question), options);
    // Its answer may have come all the same.
    sent.catch((error: unknown) => waiting.get(id)?.reject(error));
    if (this.#stream !== stream) stream.end();
    return answered;
  }

  async #read(stream: ReturnType<AnyClient['stream']>, waiting: Map<string, Waiting>): Promise<void> {
    let reason: unknown = new Error('the stream ended before the answer');
    try {
      for await (const { requestId, outputs, error, final } of stream) {
        const { answers, resolve, reject } = waiting.get(requestId)!;
        if (outputs !== undefined) answers.push(received(outputs));
        if (!final) continue;
        waiting.delete(requestId);
        if (error === undefined) resolve(answers);
        else reject(error);
      }
    } catch (error) {
      reason = error;
    }
    if (this.#stream === stream) this.#stream = undefined;
    for (const { reject } of waiting.values()) reject(reason);
  }

  close(): Promise<void> {
    return this.#client.close();
  }
}

function inputsOf({ tensors }: Question): Record<string, Tensor> {
  return Object.fromEntries(
    tensors.map(({ name, dtype, data, shape }) => [name, new Tensor(dtype, data as Uint8Array, shape)]),
  );
}

function received({ y, said }: Readonly<Record<string, Tensor>>): ReceivedAnswer {
  const { buffer, byteOffset, byteLength } = y!.data as Uint8Array;
  return { y: new Uint8Array(buffer, byteOffset, byteLength), said: said!.data as readonly string[] };
}
