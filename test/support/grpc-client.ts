// Clients of @grpc/grpc-js for the services of a running server, with promises in place of callbacks.
import {
  credentials,
  loadPackageDefinition,
  Metadata,
  type CallOptions,
  type ChannelCredentials,
  type Client,
  type ClientDuplexStream,
  type ClientReadableStream,
  type ServiceClientConstructor,
  type ServiceError,
  type StatusObject,
} from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { fileURLToPath } from 'node:url';

const FILES = ['grpc_service.proto', 'health.proto', 'reflection_v1.proto', 'reflection_v1alpha.proto'];
const definition = loadSync(FILES, {
  includeDirs: [fileURLToPath(new URL('../../proto', import.meta.url))],
  keepCase: true,
  longs: Number,
  enums: String,
});
const packages = loadPackageDefinition(definition) as unknown as {
  readonly inference: { readonly GRPCInferenceService: ServiceClientConstructor };
  readonly grpc: {
    readonly health: { readonly v1: { readonly Health: ServiceClientConstructor } };
    readonly reflection: {
      readonly v1: { readonly ServerReflection: ServiceClientConstructor };
      readonly v1alpha: { readonly ServerReflection: ServiceClientConstructor };
    };
  };
};

const SERVICES = {
  inference: packages.inference.GRPCInferenceService,
  health: packages.grpc.health.v1.Health,
  reflection: packages.grpc.reflection.v1.ServerReflection,
  reflectionAlpha: packages.grpc.reflection.v1alpha.ServerReflection,
};

export type Message = Readonly<Record<string, unknown>>;

export interface GrpcServiceOptions {
  readonly service?: keyof typeof SERVICES;
  readonly credentials?: ChannelCredentials;
  readonly channel?: Readonly<Record<string, string | number>>;
}

export interface GrpcCallOptions extends CallOptions {
  readonly metadata?: Readonly<Record<string, string>>;
  /** Cancels the call. */
  readonly signal?: AbortSignal;
}

type Method = (...args: readonly unknown[]) => unknown;

export class GrpcService implements Disposable {
  readonly #client: Client & Readonly<Record<string, Method>>;

  /** `url` as `grpc://host:port`. */
  constructor(url: string, options: GrpcServiceOptions = {}) {
    const Service = SERVICES[options.service ?? 'inference'];
    this.#client = new Service(url.replace('grpc://', ''), options.credentials ?? credentials.createInsecure(), {
      'grpc.max_receive_message_length': -1,
      'grpc.max_send_message_length': -1,
      'grpc.use_local_subchannel_pool': 1,
      // grpc-js would send the address as the server's name, which newer versions of Node refuse.
      ...(options.credentials === undefined ? {} : { 'grpc.ssl_target_name_override': 'localhost' }),
      ...options.channel,
    }) as unknown as Client & Readonly<Record<string, Method>>;
  }

  /** Rejects with grpc-js's ServiceError. */
  call<Answer = Message>(method: string, request: Message = {}, options: GrpcCallOptions = {}): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const done = (error: ServiceError | null, answer: Answer) => (error === null ? resolve(answer) : reject(error));
      const call = this.#client[method]!(request, metadataOf(options), options, done) as { cancel(): void };
      options.signal?.addEventListener('abort', () => call.cancel());
    });
  }

  /** A call that can be cancelled. */
  start(method: string, request: Message = {}): { readonly error: Promise<ServiceError>; cancel(): void } {
    let call!: { cancel(): void };
    const error = new Promise<ServiceError>((resolve, reject) => {
      call = this.#client[method]!(request, (failed: ServiceError | null) =>
        failed === null ? reject(new Error('the call was answered')) : resolve(failed),
      ) as { cancel(): void };
    });
    return { error, cancel: () => call.cancel() };
  }

  /** A stream of both sides. */
  stream(method = 'ModelStreamInfer', options: GrpcCallOptions = {}): GrpcStream {
    const call = this.#client[method]!(metadataOf(options), options);
    return new GrpcStream(call as ClientDuplexStream<Message, Message>);
  }

  /** A stream of answers. */
  watch(method: string, request: Message = {}): GrpcStream {
    return new GrpcStream(this.#client[method]!(request) as ClientReadableStream<Message>);
  }

  [Symbol.dispose](): void {
    this.#client.close();
  }
}

function metadataOf({ metadata = {} }: GrpcCallOptions): Metadata {
  const given = new Metadata();
  for (const [name, value] of Object.entries(metadata)) given.set(name, value);
  return given;
}

/** A stream with all that came on it. */
export class GrpcStream {
  readonly messages: Message[] = [];
  /** How it ended. */
  readonly status: Promise<StatusObject>;
  readonly call: ClientDuplexStream<Message, Message>;
  #ended = false;
  #onChange: (() => void)[] = [];

  constructor(call: ClientDuplexStream<Message, Message> | ClientReadableStream<Message>) {
    this.call = call as ClientDuplexStream<Message, Message>;
    call.on('data', (message: Message) => {
      this.messages.push(message);
      this.#notify();
    });
    call.on('error', () => undefined);
    this.status = new Promise((resolve) =>
      call.on('status', (status) => {
        this.#ended = true;
        this.#notify();
        resolve(status);
      }),
    );
  }

  send(...requests: readonly Message[]): this {
    for (const request of requests) this.call.write(request);
    return this;
  }

  /** Half-closes; resolves with the status. */
  end(): Promise<StatusObject> {
    this.call.end();
    return this.status;
  }

  cancel(): void {
    this.call.cancel();
  }

  /** Resolves when so many messages have come. Rejects when the stream ended before. */
  async until(count: number): Promise<void> {
    while (this.messages.length < count) {
      if (this.#ended) throw new Error(`the stream ended after ${this.messages.length} messages`);
      await new Promise<void>((resolve) => this.#onChange.push(resolve));
    }
  }

  #notify(): void {
    for (const notify of this.#onChange.splice(0)) notify();
  }
}

export interface TensorMessage {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
  readonly raw: Buffer;
  readonly parameters?: Message;
}

/** A request whose inputs are raw. */
export function inferMessage(model: string, inputs: readonly TensorMessage[], more: Message = {}): Message {
  return {
    model_name: model,
    inputs: inputs.map(({ raw: _raw, ...input }) => input),
    raw_input_contents: inputs.map(({ raw }) => raw),
    ...more,
  };
}

export function floatTensor(name: string, values: readonly number[] | Float32Array, batching = true): TensorMessage {
  const data = Float32Array.from(values);
  return { name, datatype: 'FP32', shape: batching ? [1, data.length] : [data.length], raw: Buffer.from(data.buffer) };
}

export function intTensor(name: string, values: readonly number[], batching = false): TensorMessage {
  const data = Int32Array.from(values);
  return { name, datatype: 'INT32', shape: batching ? [1, data.length] : [data.length], raw: Buffer.from(data.buffer) };
}

export interface InferMessage extends Message {
  readonly model_name: string;
  readonly model_version: string;
  readonly id?: string;
  readonly parameters?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly outputs?: readonly { readonly name: string; readonly datatype: string; readonly shape: readonly number[] }[];
  readonly raw_output_contents?: readonly Buffer[];
}

/** The floats of an answer's output. */
export function floatsOf({ raw_output_contents: raw }: InferMessage, index = 0): number[] {
  const bytes = raw![index]!;
  return Array.from({ length: bytes.length / 4 }, (_, i) => bytes.readFloatLE(4 * i));
}

export interface StreamMessage {
  readonly error_message?: string;
  readonly infer_response: InferMessage;
}

/** A message of a stream in short: `id:value`, with `!` when it is the request's last and `?` when it does not say. */
export function shortMessage(message: Message): string {
  const { error_message: error = '', infer_response: response } = message as unknown as StreamMessage;
  const final = response.parameters?.['triton_final_response']?.['bool_param'] as boolean | undefined;
  const [bytes] = response.raw_output_contents ?? [];
  const value = error !== '' ? error : bytes === undefined ? '' : String(bytes.readInt32LE(0));
  return `${response.id ?? ''}:${value}${final === undefined ? '?' : final ? '!' : ''}`;
}
