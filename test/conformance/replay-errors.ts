// Binds models that fail as those did with which PyTriton's errors were recorded, asks them over both protocols, and
// holds the answers against PyTriton's.
import { Triton } from 'tstriton';

import { floatsOf, floatTensor, GrpcService, inferMessage, type StreamMessage } from '../support/grpc-client.js';
import { callJson } from '../support/grpc-service.js';
import { FREE_PORTS } from '../support/start-server.js';
import { DECOUPLED, FAILURES, ORDINARY, STREAM_MESSAGES, tellsItsPlace, type Failure } from './failing-callables.js';
import { MODEL, type AnyModel } from './lifecycle-config.js';
import type { ErrorCase, StreamedAnswer } from './lifecycle-cases.js';
import type { Mode } from './replays.js';
import { Verdict, type Replay, type Rule } from './rules.js';
import { failServer } from './signalled-server.js';

/** In words: `500 "no"; INTERNAL "no"; then 500, ready`; `…` marks texts with the server's stack. */
export type ErrorAnswer = string;
export type ErrorRule = Rule<ErrorCase, ErrorAnswer>;

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
    const { status, error, seconds, exitCode } = await failServer(how);
    return `${status} ${told(error, 'no further inferences possible')} ${seconds < 1 ? 'at once' : 'late'}, exit ${exitCode}`;
  }
  const http = async (value = 1) => {
    const [status, body] = await callJson(`http://127.0.0.1:${triton.httpPort}/v2/models/${name}/infer`, input(value));
    return { status, error: (body as { readonly error?: string }).error ?? '' };
  };
  if (name === BATCH) {
    const answers = await Promise.all([1, -1, 1, 1].map(http));
    return answers.map(({ status, error }) => `${status} ${told(error, 'negative row')}`).join('; ');
  }
  const first = await http();
  using grpc = new GrpcService(`grpc://127.0.0.1:${triton.grpcPort}`);
  if (name in DECOUPLED) return `${first.status}; ${describeStream(name, await askStream(name, grpc))}`;
  const failure = FAILURES[name];
  if (failure === undefined) return String(first.status);
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

/** The message when the text tells it, marked when it tells of the server's files as well. */
function told(text: string, message: string): string {
  const place = tellsItsPlace(text) ? '…' : '';
  if (text.includes(message)) return `${JSON.stringify(message.slice(0, 40))}${place}`;
  return `${text.includes(message.slice(0, 8)) ? 'cut' : 'without its text'}${place}`;
}

async function askStream(name: string, grpc: GrpcService): Promise<readonly StreamedAnswer[]> {
  const stream = grpc.stream();
  await stream.send(inferMessage(name, X, { parameters: { triton_enable_empty_final_response: { bool_param: true } } })).end();
  return stream.messages.map((message): StreamedAnswer => {
    const { error_message: error, infer_response: answer } = message as unknown as StreamMessage;
    if (error !== undefined && error !== '') return { error };
    const outputs = (answer.outputs ?? []).map(({ name: output }, index) => [output, { values: floatsOf(answer, index) }]);
    const final = answer.parameters?.['triton_final_response']?.['bool_param'] === true;
    return { outputs: Object.fromEntries(outputs) as never, final };
  });
} // prettier-ignore

function describeStream(name: string, answers: readonly StreamedAnswer[]): string {
  const described = answers.map((answer) => {
    if ('error' in answer) return told(answer.error, STREAM_MESSAGES[name] ?? '');
    const { outputs, final } = answer;
    return [...Object.values(outputs).flatMap(({ values }) => values), ...(final ? ['end'] : [])].join(' ');
  });
  return described.join(', ');
}

const CODES: Readonly<Record<string, number>> = { OK: 0, RESOURCE_EXHAUSTED: 8, INTERNAL: 13 };

export function recordedAnswer({ name, http, grpc, grpc_stream: streamed, next_request_status: next, ...rest }: ErrorCase): ErrorAnswer {
  const [first = {}] = Array.isArray(http) ? http : [http ?? {}];
  const textOf = (body: unknown) => (typeof body === 'string' ? body : JSON.stringify(body ?? ''));
  if (rest.how !== undefined) {
    return `${first.status} ${told(textOf(first.body), 'no further inferences possible')} ${first.seconds < 1 ? 'at once' : 'late'}, exit ${rest.exit_code}`;
  }
  if (name === BATCH) return (http as readonly { readonly status: number; readonly ends: string }[]).map(({ status, ends }) => `${status} ${told(ends, 'negative row')}`).join('; ');
  if (first.no_answer !== undefined) return 'no answer';
  if (streamed !== undefined) return `${first.status}; ${describeStream(name, streamed)}`;
  const failure = FAILURES[name];
  if (failure === undefined) return String(first.status);
  const code = CODES[grpc!.status.replace('StatusCode.', '')]!;
  const { error } = first.body as { readonly error: string | { readonly starts: string; readonly ends: string } };
  // Of a long text the recording has both ends.
  const text = typeof error === 'string' ? error : `${error.starts}${failure.message}${error.ends}`;
  return answerText(failure, [first.status, text], [code, grpc!.message ?? ''], next!);
} // prettier-ignore
