// Binds models that fail as those did with which PyTriton's errors were recorded, asks them over both protocols, and
// holds the answers against PyTriton's.
import { Triton } from 'tstriton';

import {
  floatsOf,
  floatTensor,
  GrpcService,
  inferMessage,
  type InferMessage,
  type StreamMessage,
  type TensorMessage,
} from '../support/grpc-client.js';
import { callJson } from '../support/grpc-service.js';
import { FREE_PORTS } from '../support/start-server.js';
import { DECOUPLED, FAILURES, ORDINARY, STREAM_MESSAGES, tellsItsPlace, type Failure } from './failing-callables.js';
import { MODEL, type AnyModel } from './lifecycle-config.js';
import type { ErrorCase } from './lifecycle-cases.js';
import { describeTensor, type RecordedTensors } from './pytriton-cases.js';
import type { Mode } from './replays.js';
import { Verdict, type Replay, type Rule } from './rules.js';
import { failServer } from './signalled-server.js';

/** In words: `500 "no"; INTERNAL "no"; then 500, ready`; `…` marks texts with the server's stack. */
export type ErrorAnswer = string;
export type ErrorRule = Rule<ErrorCase, ErrorAnswer>;

/** Only what waits for something to time out takes so long, PyTriton's answer to an unrecoverable error for one: 20 s. */
const LATE_SECONDS = 15;
const BATCH = 'one-bad-request-in-a-batch-of-4';

export async function replayErrors(
  cases: readonly ErrorCase[],
  mode: Mode,
  rules: readonly ErrorRule[],
): Promise<Replay> {
  const triton = new Triton({ ...FREE_PORTS, ...mode, httpAddress: '127.0.0.1', grpcAddress: '127.0.0.1' });
  const refused = new Set(cases.filter((testCase) => !bindCase(testCase, triton)).map(({ name }) => name));
  const verdict = new Verdict<ErrorCase, ErrorAnswer>(rules, differencesOf);
  try {
    await triton.run();
    for (const testCase of cases) {
      const ours = refused.has(testCase.name) ? 'refused at bind' : await ask(testCase, triton);
      verdict.add({ testCase, recorded: recordedAnswer(testCase), ours });
    }
    return verdict.replay();
  } finally {
    await triton.stop();
  }
}

export function differencesOf(ours: ErrorAnswer, expected: ErrorAnswer): string[] {
  return ours === expected ? [] : [`expected ${expected}, got ${ours}`];
}

/** False when it is refused. */
function bindCase({ name }: ErrorCase, triton: Triton): boolean {
  const failure = FAILURES[name];
  const bad = (requests: readonly { readonly inputs: { readonly x: { readonly data: readonly number[] } } }[]) => {
    if (requests.some(({ inputs }) => inputs.x.data[0]! < 0)) throw new Error('negative row');
    return requests;
  };
  const inferFunc = failure?.inferFunc ?? DECOUPLED[name] ?? ORDINARY[name] ?? (name === BATCH ? bad : undefined);
  if (inferFunc === undefined) return true;
  const waits = { maxBatchSize: 4, batcher: { maxQueueDelayMicroseconds: 60_000_000, preferredBatchSize: [4] } };
  const config = name === BATCH ? waits : { decoupled: name in DECOUPLED };
  try {
    triton.bind({ ...MODEL, modelName: name, inferFunc, config } as unknown as AnyModel);
    return true;
  } catch {
    return false;
  }
}

const X = [floatTensor('x', [1])];
const input = (value: number) => ({ inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 1], data: [value] }] });

async function ask({ name, how }: ErrorCase, triton: Triton): Promise<ErrorAnswer> {
  if (how !== undefined) {
    const { status, body, seconds, exitCode } = await failServer(how);
    return `${status} ${told(body, 'no further inferences possible')} ${seconds < LATE_SECONDS ? 'at once' : 'late'}, exit ${exitCode}`;
  }
  const http = async (value = 1) => {
    const [status, body] = await callJson(`http://127.0.0.1:${triton.httpPort}/v2/models/${name}/infer`, input(value));
    const { error = '', outputs = [] } = body as { readonly error?: string; readonly outputs?: readonly JsonTensor[] };
    return { status, error, tensors: outputs.map(jsonTensorText).join(' ') };
  };
  if (name === BATCH) {
    const answers = await Promise.all([1, -1, 1, 1].map(http));
    return answers.map(({ status, error }) => `${status} ${told(error, 'negative row')}`).join('; ');
  }
  const first = await http();
  using grpc = new GrpcService(`grpc://127.0.0.1:${triton.grpcPort}`);
  if (name in DECOUPLED) return `${first.status} ${first.error}; ${describeStream(name, await askStream(name, grpc))}`;
  const failure = FAILURES[name];
  if (failure === undefined) {
    const answer = (await grpc.call('ModelInfer', inferMessage(name, X))) as unknown as InferMessage;
    return `${first.status} ${first.tensors}; OK ${tensorsOf(answer)}`;
  }
  const refusal = await grpc.call('ModelInfer', inferMessage(name, X)).then(
    () => ({ code: 0, details: '' }),
    (error: { readonly code: number; readonly details: string }) => error,
  );
  const again = await http();
  return answerText(failure, [first.status, first.error], [refusal.code, refusal.details], again.status);
}

function answerText({ message }: Failure, http: readonly [number, string], grpc: readonly [number, string], next: number) {
  return `${http[0]} ${told(http[1], message)}; ${grpc[0]} ${told(grpc[1], message)}; then ${next}`;
} // prettier-ignore

/** The message when the text tells it, marked when it tells of the server's files as well. Where none is known, the text. */
function told(text: string, message: string | undefined): string {
  const place = tellsItsPlace(text) ? '…' : '';
  if (message === undefined) return `${JSON.stringify(text.trimEnd().split('\n').at(-1))}${place}`;
  if (text.includes(message)) return `${JSON.stringify(message.slice(0, 40))}${place}`;
  return `${text.includes(message.slice(0, 8)) ? 'cut' : 'without its text'}${place}`;
}

async function askStream(name: string, grpc: GrpcService): Promise<readonly StreamedText[]> {
  const stream = grpc.stream();
  await stream.send(inferMessage(name, X, { parameters: { triton_enable_empty_final_response: { bool_param: true } } })).end();
  return stream.messages.map((message): StreamedText => {
    const { error_message: error, infer_response: answer } = message as unknown as StreamMessage;
    if (error !== undefined && error !== '') return { error };
    return { tensors: tensorsOf(answer), final: answer.parameters?.['triton_final_response']?.['bool_param'] === true };
  });
} // prettier-ignore

type StreamedText = { readonly error: string } | { readonly tensors: string; readonly final: boolean };

/** `y FP32[1,1](1)`. */
function tensorsOf(answer: InferMessage): string {
  const outputs = (answer.outputs ?? []) as readonly Pick<TensorMessage, 'name' | 'datatype' | 'shape'>[];
  return outputs
    .map(
      ({ name, datatype, shape }, index) =>
        `${name} ${datatype}[${shape.join()}](${floatsOf(answer, index).join(' ')})`,
    )
    .join(' ');
}

function recordedTensors(outputs: RecordedTensors): string {
  return Object.entries(outputs)
    .map(([name, tensor]) => `${name} ${describeTensor(tensor)}`)
    .join(' ');
}

function describeStream(name: string, answers: readonly StreamedText[]): string {
  const described = answers.map((answer) => {
    if ('error' in answer) return told(answer.error, STREAM_MESSAGES[name]);
    return [answer.tensors, answer.final ? 'end' : ''].join(' ').trim();
  });
  return described.join(', ');
}

interface RecordedBody {
  readonly error?: string | { readonly starts: string; readonly ends: string };
  readonly outputs?: readonly JsonTensor[];
}

interface JsonTensor {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
  readonly data: readonly number[];
}

function jsonTensorText({ name, datatype, shape, data }: JsonTensor): string {
  return `${name} ${datatype}[${shape.join()}](${data.join(' ')})`;
}

const CODES: Readonly<Record<string, number>> = { OK: 0, RESOURCE_EXHAUSTED: 8, INTERNAL: 13 };

export function recordedAnswer({ name, http, grpc, grpc_stream: streamed, next_request_status: next, how, exit_code: exitCode }: ErrorCase): ErrorAnswer {
  const [first = {}] = Array.isArray(http) ? http : [http ?? {}];
  const textOf = (body: unknown) => (typeof body === 'string' ? body : JSON.stringify(body ?? ''));
  if (how !== undefined) {
    return `${first.status} ${told(textOf(first.body), 'no further inferences possible')} ${first.seconds < LATE_SECONDS ? 'at once' : 'late'}, exit ${exitCode}`;
  }
  if (name === BATCH) return (http as readonly { readonly status: number; readonly ends: string }[]).map(({ status, ends }) => `${status} ${told(ends, 'negative row')}`).join('; ');
  if (first.no_answer !== undefined) return 'no answer';
  const { error, outputs } = first.body as RecordedBody;
  if (streamed !== undefined) {
    const texts = streamed.map((answer): StreamedText =>
      'error' in answer ? answer : { tensors: recordedTensors(answer.outputs), final: answer.final });
    return `${first.status} ${error as string}; ${describeStream(name, texts)}`;
  }
  const failure = FAILURES[name];
  if (failure === undefined) {
    const overHttp = `${first.status} ${outputs!.map(jsonTensorText).join(' ')}`;
    return grpc === undefined ? overHttp : `${overHttp}; ${grpc.status} ${recordedTensors(grpc.outputs!)}`;
  }
  const code = CODES[grpc!.status.replace('StatusCode.', '')]!;
  // Of a long text the recording has both ends.
  const text = typeof error === 'string' ? error : `${error!.starts}${failure.message}${error!.ends}`;
  return answerText(failure, [first.status, text], [code, grpc!.message ?? ''], next!);
} // prettier-ignore
