// Replays the recorded single requests to models that batch by sequences: over HTTP, over gRPC calls and streams, as exact texts.
import { setImmediate as turn } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';

import { describe, expect, it } from 'vitest';

import { InferenceResponse, stream, Tensor, type InferenceContext, type InferenceRequest, type Triton } from 'tstriton';

import { type ConfigJson, canonical } from '../../src/protocol/config-message.js';
import { sequenceBatchingOf } from '../../src/protocol/sequence-batching-json.js';
import { GrpcService, type Message } from '../support/grpc-client.js';
import { bytesElements, post } from '../support/http-infer.js';
import { startServer, type RunningServer } from '../support/start-server.js';
import { expanded, readSequences, type SequenceModel } from './sequence-cases.js';
import { WIRE_RULES } from './sequence-wire-rules.js';

export interface WireCase {
  readonly name: string;
  readonly via: 'http' | 'grpc' | 'stream';
  readonly model: string;
  /** Sent first, and answered. */
  readonly before?: readonly Readonly<Record<string, unknown>>[];
  readonly path?: string;
  readonly request_body?: string;
  readonly content_type?: string;
  readonly answer_body?: string;
  readonly parameters?: Readonly<Record<string, readonly [string | null, unknown]>>;
  readonly rows?: number;
  readonly job?: object;
  readonly text?: string;
  readonly answer?: Message;
  readonly answers?: readonly Message[];
  readonly status: number | string;
}

const [{ models }, ...CASES] = readSequences<object>('wire') as [
  { readonly models: Readonly<Record<string, SequenceModel>> },
  ...WireCase[],
];
const STATUS: Readonly<Record<number, string>> = {
  0: 'OK',
  3: 'INVALID_ARGUMENT',
  12: 'UNIMPLEMENTED',
  13: 'INTERNAL',
};

/** What the recorded model keeps of a sequence. */
class Kept {
  sum = 0;
  steps = 0;
}

function bind(triton: Triton): void {
  for (const [modelName, model] of Object.entries(models)) {
    const { max_batch_size: rows, sequence_batching: batching, model_transaction_policy: policy } = model;
    const json = batching && (canonical({ sequence_batching: expanded(model) }) as unknown as ConfigJson);
    const options = json && sequenceBatchingOf(json.sequence_batching!, `model '${modelName}'`, () => 0);
    const decoupled = policy?.decoupled === true;
    const iterative = options?.iterative === true;
    const answerTo = ({ inputs, sequence }: Pick<InferenceRequest, 'inputs' | 'sequence'>, again: () => void) => {
      const { x, note } = inputs as unknown as { readonly x: { readonly data: Int32Array }; readonly note: Tensor };
      const {
        steps = 1,
        answers = 1,
        fails = false,
      } = JSON.parse(note.strings()[0]!) as Readonly<Record<string, never>>;
      const kept = (sequence?.state as Kept | undefined) ?? new Kept();
      kept.sum += x.data[0]!;
      kept.steps++;
      if (iterative && kept.steps < steps) again();
      else if (fails) throw new Error('asked to fail');
      const shape = rows === 0 ? [1] : [1, 1];
      const outputs = {
        y: new Tensor('int32', Int32Array.of(iterative ? kept.steps : kept.sum), shape),
        info: new Tensor('string', [''], shape),
      };
      return { outputs, answers: iterative ? 1 : answers };
    };
    triton.bind({
      modelName,
      inputs: { x: { dtype: 'int32', shape: [1] }, note: { dtype: 'string', shape: [1] } },
      outputs: { y: { dtype: 'int32', shape: [1] }, info: { dtype: 'string', shape: [1] } },
      config: {
        ...(rows === 0 ? { batching: false } : { maxBatchSize: rows }),
        decoupled,
        ...(options && { sequenceBatching: { ...options, state: () => new Kept() } }),
      },
      inferFunc: decoupled
        ? stream(async function* (inputs, { sequence, reschedule }) {
            let isLast = iterative;
            const again = () => {
              isLast = false;
              reschedule();
            };
            const { outputs, answers } = answerTo({ inputs, sequence } as unknown as InferenceRequest, again);
            if (isLast) yield new InferenceResponse(outputs, { final: true });
            else for (let i = 0; i < answers; i++) yield outputs;
            // As in the recorded model, the end of the others is known later than their last answer.
            await turn();
          })
        : (requests: readonly InferenceRequest[], { reschedule }: InferenceContext) =>
            requests.map((request, row) => {
              try {
                return answerTo(request, () => reschedule(row)).outputs;
              } catch (error) {
                return error as Error;
              }
            }),
    } as never);
  }
}

/** What the recorded model told of its executions is no part of what is compared. */
const withoutInfo = (text: string) => text.replaceAll(/"\{\\"n\\": \d+\}"/g, '""');

function messagesIn(text: string): unknown {
  const parsed = text
    .split('\n\n')
    .filter((message) => message !== '')
    .map((message) => {
      const json = message.replace(/^data: /, '');
      return json.startsWith('{') ? (JSON.parse(json) as unknown) : json;
    });
  return parsed.length === 1 ? parsed[0] : parsed;
}

async function overHttp({ http }: RunningServer, { model, path, request_body: body, before = [] }: WireCase) {
  for (const parameters of before) {
    const inputs = (JSON.parse(body!) as { readonly inputs: unknown }).inputs;
    const { status } = await post(http, model, JSON.stringify({ id: 'before', parameters, inputs }));
    expect(status).toBe(200);
  }
  const answer = await post(http, model, body!, { action: path! });
  return { status: answer.status, content_type: answer.headers.get('content-type'), body: messagesIn(answer.text) };
}

function requestOf({ model, parameters = {}, rows = 1, job = { id: 'a1' } }: WireCase): Message {
  const shape = model === 'batch-0' ? [1] : [rows, 1];
  const notes = Array.from({ length: rows }, () => JSON.stringify(job));
  return {
    model_name: model,
    id: 'a1',
    parameters: Object.fromEntries(
      Object.entries(parameters).map(([name, [kind, value]]) => [
        name,
        kind === null ? {} : { [kind]: typeof value === 'bigint' ? String(value) : value },
      ]),
    ),
    inputs: [
      { name: 'x', datatype: 'INT32', shape },
      { name: 'note', datatype: 'BYTES', shape },
    ],
    raw_input_contents: [Buffer.from(new Int32Array(rows).fill(1).buffer), bytesElements(...notes)],
  };
}

/** As the recordings have an answer. */
function shown(message: Message): unknown {
  const {
    model_name,
    model_version,
    id,
    outputs = [],
    parameters = {},
    raw_output_contents: raw = [],
  } = message as {
    readonly [name: string]: unknown;
    readonly outputs?: readonly {
      readonly name: string;
      readonly datatype: string;
      readonly shape: readonly number[];
    }[];
    readonly parameters?: Readonly<Record<string, Message>>;
    readonly raw_output_contents?: readonly Buffer[];
  };
  const parts = {
    model_name,
    model_version,
    id,
    parameters: Object.fromEntries(
      Object.entries(parameters).map(([name, value]) => [name, { bool_param: value['bool_param'] }]),
    ),
    outputs: outputs.map(({ name, datatype, shape }) => ({ name, datatype, shape: shape.map(String) })),
    y: raw.length === 0 ? undefined : [raw[0]!.readInt32LE(0)],
  };
  return withoutEmpty(parts);
}

function withoutEmpty(parts: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const isEmpty = (value: unknown) =>
    value === undefined || value === '' || (typeof value === 'object' && Object.keys(value!).length === 0);
  return Object.fromEntries(Object.entries(parts).filter(([, value]) => !isEmpty(value)));
}

async function overGrpc(grpc: GrpcService, testCase: WireCase) {
  for (const before of testCase.before ?? []) {
    const parameters = Object.fromEntries(
      Object.entries(before).map(([name, value]) => [
        name,
        [typeof value === 'boolean' ? 'bool_param' : typeof value === 'string' ? 'string_param' : 'int64_param', value],
      ]),
    ) as never;
    await grpc.call('ModelInfer', requestOf({ ...testCase, parameters }));
  }
  if (testCase.via === 'grpc') {
    return grpc.call('ModelInfer', requestOf(testCase)).then(
      (answer) => ({ status: 'OK', answer: shown(answer) }),
      ({ code, details }: { readonly code: number; readonly details: string }) => ({
        status: STATUS[code],
        text: details,
      }),
    );
  }
  const stream = grpc.stream();
  stream.call.write(requestOf(testCase));
  stream.call.end();
  const { code } = await stream.status;
  const answers = stream.messages.map(({ error_message: text, infer_response: response }) =>
    text === '' || text === undefined
      ? shown(response as Message)
      : { error_message: text, infer_response: shown((response as Message | null) ?? {}) },
  );
  return { status: STATUS[code], answers };
}

/** Its sequences would keep their slots from the others. */
async function endAll(grpc: GrpcService, testCase: WireCase): Promise<void> {
  const { model, request_body: body = '{}', before = [], parameters = {} } = testCase;
  if (!(model in models) || models[model]!.sequence_batching === undefined) return;
  const sent = testCase.via === 'http' ? (JSON.parse(body) as { readonly parameters?: Message }).parameters : undefined;
  const ids = [sent?.['sequence_id'], parameters['sequence_id']?.[1], ...before.map((each) => each['sequence_id'])];
  for (const id of new Set(ids)) {
    const kind = typeof id === 'string' ? 'string_param' : 'int64_param';
    const end = { sequence_id: [kind, id], sequence_end: ['bool_param', true] } as const;
    // Most are over, or were no ids.
    await grpc
      .call('ModelInfer', requestOf({ ...testCase, rows: 1, job: { id: 'end' }, parameters: end }))
      .catch(() => undefined);
  }
}

function recordedAnswer(testCase: WireCase): unknown {
  const { via, status, content_type, answer_body: body, text, answer, answers } = testCase;
  const named = (value: string) => withoutInfo(value).replaceAll("'m'", `'${testCase.model}'`);
  if (via === 'http') return { status, content_type, body: inModel(messagesIn(named(body!)), testCase) };
  if (via === 'grpc') {
    return text === undefined
      ? { status, answer: inModel(withoutEmpty({ ...answer, raw_output_contents_bytes: undefined }), testCase) }
      : { status, text: named(text) };
  }
  const each = answers!.map((message) =>
    'error_message' in message
      ? {
          error_message: named(String(message['error_message'])),
          infer_response: inModel(withoutEmpty(message['infer_response'] as Message), testCase),
        }
      : inModel(withoutEmpty({ ...message, raw_output_contents_bytes: undefined }), testCase),
  );
  return { status, answers: each };
}

/** As JSON has it. */
function withoutUndefined(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

/** Each recorded model was called `m`. */
function inModel(value: unknown, { model }: WireCase): unknown {
  return JSON.parse(JSON.stringify(value).replaceAll('"model_name":"m"', `"model_name":"${model}"`));
}

const CHANGES = new Map(WIRE_RULES.flatMap(({ cases }) => Object.entries(cases)));

describe.each([
  ['with a thread of its own', {}],
  ["in the user's thread", { serverThread: false }],
] as const)('a server %s', (_, mode) => {
  it('answers single requests of sequences as recorded, under the rules', async () => {
    await using server = await startServer(bind, mode);
    using grpc = new GrpcService(server.grpc);
    const lines: unknown[] = [];
    for (const testCase of CASES) {
      const own = testCase.via === 'http' ? await overHttp(server, testCase) : await overGrpc(grpc, testCase);
      await endAll(grpc, testCase);
      const recorded = recordedAnswer(testCase);
      const change = CHANGES.get(testCase.name);
      const expected = change === undefined ? recorded : { ...(recorded as object), ...change };
      // A rule about what is as recorded would hide what changes.
      const isVain = change !== undefined && isDeepStrictEqual(withoutUndefined(own), recorded);
      if (isVain || !isDeepStrictEqual(withoutUndefined(own), withoutUndefined(expected)))
        lines.push(testCase.name, JSON.stringify(own), JSON.stringify(expected));
    }
    expect(lines).toEqual([]);
  });
});

it('has rules for recorded requests only', () => {
  const names = new Set(CASES.map(({ name }) => name));
  expect([...CHANGES.keys()].filter((name) => !names.has(name))).toEqual([]);
});
