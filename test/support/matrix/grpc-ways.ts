// Clients of gRPC that are not ours, made with grpc-js: calls with raw and with typed tensors, compressed and not, and streams that
// several questions share.
import { setTimeout as later } from 'node:timers/promises';

import type { ClientDuplexStream } from '@grpc/grpc-js';

import { GrpcService, type InferMessage, type Message, type StreamMessage } from '../grpc-client.js';
import { datatypeOf, rawBytes, textsOf } from './http-message.js';
import { HEADER, LARGE_BYTES, valuesOf, type Question, type QuestionTensor } from './question.js';
import { ALL_MODELS, ANSWERED_ONCE, forwarded, GivenUp, type Link, type ReceivedAnswer, type Way } from './way.js';

const GZIP = { 'grpc.default_compression_algorithm': 2 } as const;
/** With the window that grpc-js has of itself, 16 MB take hundreds of turns of a client's loop: minutes on a busy machine. */
const WIDE = { 'grpc-node.flow_control_window': 4 * 1024 * 1024 } as const;
const TYPED_BYTES = 300_000;

function requestOf(question: Question): Message {
  const { model, id, parameters, tensors, bytes, manners } = question;
  const isTyped = bytes < TYPED_BYTES && manners.draw % 0.5 < 0.2;
  return {
    model_name: model,
    id,
    parameters: Object.fromEntries(
      Object.entries({
        ...parameters,
        ...(model === 'Stream' ? { triton_enable_empty_final_response: true } : {}),
      }).map(([name, value]) => [name, parameterOf(value)]),
    ),
    inputs: tensors.map((tensor) => ({
      name: tensor.name,
      datatype: datatypeOf(tensor),
      shape: tensor.shape,
      ...(isTyped ? { contents: contentsOf(tensor) } : {}),
    })),
    ...(isTyped ? {} : { raw_input_contents: tensors.map(rawBytes) }),
  };
}

function parameterOf(value: string | number | boolean): Message {
  if (typeof value === 'string') return { string_param: value };
  if (typeof value === 'boolean') return { bool_param: value };
  return Number.isInteger(value) ? { int64_param: value } : { double_param: value };
}

function contentsOf(tensor: QuestionTensor): Message {
  const values = valuesOf(tensor);
  if (tensor.dtype === 'string') return { bytes_contents: values.map((text) => Buffer.from(text as string)) };
  return tensor.dtype === 'uint8' ? { uint_contents: values } : { int_contents: values };
}

function answerOf({ id = '', outputs = [], raw_output_contents: raw = [] }: InferMessage): ReceivedAnswer {
  const bytesOf = (name: string) => raw[outputs.findIndex((output) => output.name === name)]!;
  return { id, y: bytesOf('y'), said: textsOf(bytesOf('said')) };
}

export const grpcCalls: Way = {
  limits: { models: ANSWERED_ONCE, mostBytes: 20_000_000 },
  weight: 12,
  adds: forwarded,
  open({ grpc }) {
    const plain = new GrpcService(grpc);
    const packing = new GrpcService(grpc, { channel: GZIP });
    const wide = new GrpcService(grpc, { channel: WIDE });
    return {
      async ask(question, signal) {
        const { header, manners, bytes } = question;
        const small = bytes < TYPED_BYTES && manners.draw > 0.9 ? packing : plain;
        const service = bytes > LARGE_BYTES ? wide : small;
        const options = { metadata: { [HEADER]: header }, signal };
        return [answerOf(await service.call<InferMessage>('ModelInfer', requestOf(question), options))];
      },
      close() {
        plain[Symbol.dispose]();
        packing[Symbol.dispose]();
        wide[Symbol.dispose]();
      },
    };
  },
};

interface Waiting {
  readonly answers: ReceivedAnswer[];
  readonly isStreamed: boolean;
  readonly resolve: (answers: readonly ReceivedAnswer[]) => void;
  readonly reject: (error: Error) => void;
}

/** The header is one of the stream, and no question's own. */
export const grpcStreams: Way = {
  limits: { models: { ...ALL_MODELS, Stream: 8 }, mostBytes: 2_000_000 },
  weight: 10,
  isShared: true,
  adds: () => ({}),
  open({ grpc }, violated): Link {
    const service = new GrpcService(grpc);
    let shared: SharedStream | undefined;
    return {
      ask(question, signal) {
        // A few dozen questions to a stream, and its half-close while answers come.
        if (shared === undefined || shared.isOver || shared.asked > 40) {
          shared?.end();
          shared = new SharedStream(service.stream().call, violated);
        }
        const { manners } = question;
        return shared.ask(question, signal, manners.isSlow);
      },
      close: () => service[Symbol.dispose](),
    };
  },
};

class SharedStream {
  asked = 0;
  isOver = false;
  readonly #call: ClientDuplexStream<Message, Message>;
  readonly #waiting = new Map<string, Waiting>();
  readonly #violated: (what: string) => void;
  #isCancelled = false;
  #losesAnswers = false;

  constructor(call: ClientDuplexStream<Message, Message>, violated: (what: string) => void) {
    this.#call = call;
    this.#violated = violated;
    call.removeAllListeners('data');
    call.on('data', (message: unknown) => this.#came(message as StreamMessage));
    // The status may overtake answers that a slow reader has not taken. Unless it is OK, grpc-js then throws them away.
    let status = '';
    call.on('status', ({ code, details }) => {
      status = `${code} ${details}`;
      if (code !== 0 && call.isPaused()) this.#losesAnswers = true;
    });
    call.on('end', () => this.#ended(`the stream ended: ${status}`));
  }

  async ask(question: Question, signal: AbortSignal, isSlow: boolean): Promise<readonly ReceivedAnswer[]> {
    this.asked++;
    const isStreamed = question.model === 'Stream';
    const answered = new Promise<readonly ReceivedAnswer[]>((resolve, reject) =>
      this.#waiting.set(question.id, { answers: [], isStreamed, resolve, reject }),
    );
    signal.addEventListener('abort', () => this.cancel());
    this.#call.write(requestOf(question));
    if (isSlow) void this.#rest();
    return answered;
  }

  async #rest(): Promise<void> {
    this.#call.pause();
    await later(20);
    this.#call.resume();
  }

  end(): void {
    this.isOver = true;
    this.#call.end();
  }

  cancel(): void {
    this.#isCancelled = true;
    this.#call.cancel();
    this.#ended('cancelled');
  }

  #came({ error_message: error = '', infer_response: response }: StreamMessage): void {
    const id = response.id ?? '';
    const found = this.#waiting.get(id);
    if (found === undefined) {
      if (!this.#isCancelled) this.#violated(`a stream has an answer for '${id}', which nobody waits for: ${error}`);
      return;
    }
    const isFinal = response.parameters?.['triton_final_response']?.['bool_param'] === true;
    if (error !== '') {
      this.#waiting.delete(id);
      return found.reject(new Error(error));
    }
    if ((response.outputs?.length ?? 0) > 0) found.answers.push(answerOf(response));
    if (found.isStreamed && !isFinal) return;
    this.#waiting.delete(id);
    found.resolve(found.answers);
  }

  #ended(why: string): void {
    this.isOver = true;
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    const isOurs = this.#isCancelled || this.#losesAnswers;
    for (const { reject } of waiting) reject(isOurs ? new GivenUp(why) : new Error(why));
  }
}
