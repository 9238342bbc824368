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
  const { id, parameters, header, model, manners, tensors } = question;
  const inputs = Object.fromEntries(
    tensors.map(({ name, dtype, data, shape }) => [name, new Tensor(dtype, data as Uint8Array, shape)]),
  );
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

function received({ y, said }: Readonly<Record<string, Tensor>>): ReceivedAnswer {
  const { buffer, byteOffset, byteLength } = y!.data as Uint8Array;
  return { y: new Uint8Array(buffer, byteOffset, byteLength), said: said!.data as readonly string[] };
}
