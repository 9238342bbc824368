// The clients of the lives of models, for one run of their server. Each request is unlike all others; its outcome is a text or its values.
import { setTimeout as delay } from 'node:timers/promises';

import type { Triton } from 'tstriton';

import { WHAT } from '../../fixtures/model-lives-instance.js';
import { GrpcService, inferMessage, type Message, type StreamMessage } from '../grpc-client.js';
import { LostStreams } from '../random-life/lost-streams.js';

export interface Request {
  readonly number: number;
  readonly name: string;
  /** 0: the latest. */
  readonly version: number;
  readonly what: keyof typeof WHAT;
  readonly rows: number;
  readonly leaves: number | undefined;
}

export type Outcome =
  | { readonly kind: 'answer'; readonly version: string; readonly values: readonly number[] }
  | { readonly kind: 'failure'; readonly text: string }
  /** Its client has gone. */
  | { readonly kind: 'gone' };

export class Asking {
  readonly http: string;
  readonly metrics: string;
  readonly #grpc: GrpcService;
  readonly #lost: LostStreams;

  constructor({ httpPort, grpcPort, metricsPort }: Triton) {
    this.http = `http://127.0.0.1:${httpPort}`;
    this.metrics = `http://127.0.0.1:${metricsPort}/metrics`;
    this.#grpc = new GrpcService(`grpc://127.0.0.1:${grpcPort}`);
    this.#lost = new LostStreams(`http://127.0.0.1:${grpcPort}`);
  }

  close(): void {
    this.#grpc[Symbol.dispose]();
    this.#lost.close();
  }

  async json(request: Request): Promise<Outcome> {
    const { name, version, rows, leaves } = request;
    const place = `models/${name}${version === 0 ? '' : `/versions/${version}`}`;
    const inputs = [{ name: 'x', datatype: 'INT32', shape: [rows, 3], data: rowsOf(request) }];
    try {
      const response = await fetch(`${this.http}/v2/${place}/infer`, {
        method: 'POST',
        body: JSON.stringify({ id: String(request.number), inputs }),
        ...(leaves !== undefined && { signal: AbortSignal.timeout(leaves) }),
      });
      const body = (await response.json()) as {
        readonly error?: string;
        readonly id: string;
        readonly model_version: string;
        readonly outputs: readonly { readonly data: number[] }[];
      };
      if (body.error !== undefined) return { kind: 'failure', text: body.error };
      if (body.id !== String(request.number)) return { kind: 'failure', text: `answered as ${body.id}` };
      return { kind: 'answer', version: body.model_version, values: body.outputs[0]!.data };
    } catch (error) {
      if (leaves !== undefined && /TimeoutError|AbortError/.test((error as Error).name)) return { kind: 'gone' };
      const { cause } = error as Error;
      return {
        kind: 'failure',
        text: `connection: ${(error as Error).message} ${cause instanceof Error ? cause.message : ''}`,
      };
    }
  }

  async grpc(request: Request): Promise<Outcome> {
    try {
      const answer = await this.#grpc.call<StreamMessage['infer_response']>('ModelInfer', messageOf(request));
      if (answer.id !== String(request.number)) return { kind: 'failure', text: `answered as ${answer.id}` };
      return { kind: 'answer', version: answer.model_version, values: valuesOf(answer) };
    } catch (error) {
      return { kind: 'failure', text: (error as Error).message };
    }
  }

  /** All of them on one stream. Answers of one come in order; those of several mix. */
  async stream(requests: readonly Request[]): Promise<readonly Outcome[]> {
    const leaves = requests.find((request) => request.leaves !== undefined)?.leaves;
    if (leaves !== undefined) {
      await this.#lost.send(requests.map(messageOf), delay(leaves));
      return requests.map(() => ({ kind: 'gone' }));
    }
    const stream = this.#grpc.stream();
    for (const request of requests) stream.send(messageOf(request));
    const { code, details } = await stream.end();
    const open = new Map(requests.map(({ number }) => [String(number), { values: [] as number[], version: '' }]));
    const outcomes = new Map<string, Outcome>();
    for (const message of stream.messages) {
      const { error_message: error = '', infer_response: response } = message as unknown as StreamMessage;
      const id = response.id ?? '';
      const answer = open.get(id);
      if (answer === undefined || outcomes.has(id)) {
        outcomes.set(id, { kind: 'failure', text: `a response too much: ${error}` });
      } else if (error === '') {
        answer.values.push(...valuesOf(response));
        // The last, which has no outputs, has no version either.
        answer.version ||= response.model_version ?? '';
        if (response.parameters?.['triton_final_response']?.['bool_param'] === true)
          outcomes.set(id, { kind: 'answer', ...answer });
      } else outcomes.set(id, { kind: 'failure', text: error });
    }
    const rest: Outcome =
      code === 0
        ? { kind: 'failure', text: 'no answer' }
        : { kind: 'failure', text: `stream ended: ${code} ${details}` };
    return requests.map(({ number }) => outcomes.get(String(number)) ?? rest);
  }
}

function rowsOf({ number, rows, what }: Request): number[] {
  return Array.from({ length: rows }, (_, row) => [number, row, WHAT[what]]).flat();
}

function messageOf(request: Request): Message {
  const { name, version, number, rows } = request;
  const raw = Buffer.from(Int32Array.from(rowsOf(request)).buffer);
  const shape = name === 'W' ? [3] : [rows, 3];
  return inferMessage(name, [{ name: 'x', datatype: 'INT32', shape, raw }], {
    id: String(number),
    model_version: version === 0 ? '' : String(version),
    parameters: { triton_enable_empty_final_response: { bool_param: true } },
  });
}

function valuesOf({ raw_output_contents: contents }: StreamMessage['infer_response']): number[] {
  const bytes = contents?.[0];
  return Array.from({ length: (bytes?.length ?? 0) / 4 }, (_, at) => bytes!.readInt32LE(4 * at));
}
