// The client of one model on one server: tensors in, tensors out, over HTTP or gRPC by the URL's scheme. With the model's spec it
// asks the server for inferences only. With only the name, it also asks once for the model's configuration, or its metadata where a
// server has none.

import { checkMembers } from '../checks/check.js';
import { invalidArg, TritonError } from '../errors.js';
import type { ModelSpec } from '../model/callable.js';
import { completeSignature } from '../model/complete-signature.js';
import type { InferTensor, ModelInferResponse } from '../model/exchange.js';
import type { ClassifiedRequest } from '../protocol/classified-request.js';
import type { TensorSpecs } from '../model/tensor-spec.js';
import type { Tensor } from '../tensor/tensor.js';
import type { ModelSignature } from '../protocol/model-signature.js';
import { ClientCalls, type BegunCall } from './client-calls.js';
import type { Call } from './call.js';
import { noAnswerError } from './connection-error.js';
import {
  completeClientOptions,
  type CallLimits,
  type CompleteClientOptions,
  type ModelClientOptions,
} from './client-options.js';
import { chunkError, chunkRows, joinOutputs } from './tensors/batch-chunks.js';
import { decodeOutputs } from './tensors/decode-outputs.js';
import { encodeInputs, type InferKind } from './tensors/encode-inputs.js';
import type { AnswersOnce, AskedOutputs, ClientInputs, InputArguments, OutputName } from './tensors/input-values.js';
import { inferArguments } from './tensors/infer-arguments.js';
import {
  completeInferOptions,
  type BatchInferOptions,
  type CompleteInferOptions,
  type InferOptions,
} from './infer-options.js';
import { InferSequence, type InferSequenceOptions, type InferSequenceSource } from './infer-sequence.js';
import { InferStream, STREAM_MEMBERS, type StreamOptions } from './infer-stream.js';
import { lacksConfigurations, signatureOfMetadata } from './metadata-signature.js';
import { OutputStream, withFirst } from './output-stream.js';
import type { InProcessServer } from '../in-process/open-transport.js';
import { serverTarget } from './in-process-server.js';
import { modelMetadata } from './server/server-operations.js';
import { SharedWork } from './shared-work.js';
import type { ModelReference, Transport } from './transport.js';

/**
 * A client of one model. With a spec from `defineModel` its inputs and outputs are typed; with a plain name they are
 * records of tensors of any kind.
 *
 * It opens its connections when they are needed, keeps them, and opens them anew when they are lost. Idle ones do not
 * keep the process alive. Calls may overlap as much as they like.
 *
 * @example
 * await using client = new ModelClient('grpc://localhost', addSub);
 * const { add } = await client.inferSample({ a: Float32Array.of(1), b: Float32Array.of(2) });
 */
export class ModelClient<
  const I extends TensorSpecs = TensorSpecs,
  const O extends TensorSpecs = TensorSpecs,
  const Decoupled extends boolean = boolean,
  const Strict extends boolean = boolean,
> {
  readonly #address: string;
  readonly #model: ModelReference;
  readonly #options: CompleteClientOptions;
  /** The options of calls without options. */
  readonly #defaults: CompleteInferOptions;
  readonly #transport: Transport;
  readonly #calls: ClientCalls;
  #signature: ModelSignature | undefined;
  /** When the server was asked for the signature; undefined for a declared model. */
  #askedAt: number | undefined;
  readonly #fetch: SharedWork<ModelSignature>;

  /**
   * `url` is `[scheme://]host[:port][/path]` with one of the schemes http (the default, port 8000), grpc (port 8001),
   * https and grpcs; or a server in this process. Nothing is sent yet. Throws INVALID_ARG.
   */
  constructor(
    url: string | InProcessServer,
    model: ModelSpec<I, O, Decoupled, Strict> | string,
    options: ModelClientOptions = {},
  ) {
    const server = serverTarget(url);
    this.#options = completeClientOptions(options, server.protocol);
    this.#defaults = completeInferOptions({}, this.#options, 'sample');
    if (typeof model === 'string') {
      this.#askedAt = 0;
      if (model === '') throw invalidArg('Model name cannot be empty');
      this.#model = { modelName: model, modelVersion: String(this.#options.modelVersion ?? '') };
    } else {
      const { batching, maxBatchSize, ...signature } = completeSignature(model as ModelSpec);
      this.#signature = { ...signature, maxBatchSize: batching ? maxBatchSize : 0 };
      this.#model = {
        modelName: this.#signature.name,
        modelVersion: String(this.#options.modelVersion ?? model.modelVersion ?? ''),
      };
    }
    this.#address = server.address;
    const open = server.open(this.#options);
    this.#transport = open.transport;
    this.#calls = new ClientCalls(open, { ...this.#options, name: 'ModelClient' });
    this.#fetch = new SharedWork((onCall) => this.#fetchSignature(onCall));
  }

  /**
   * Infers one sample: tensors without a batch axis in and out; it is added and removed when the model batches.
   *
   * Inputs are a record by name, a list in declaration order, or arguments in that order. Each is a Tensor, a typed array, or an array
   * nested as deep as the declared shape. A typed array has no shape of its own and fills the declared one. A single value stands
   * for a tensor of one element. A single array is the list of all inputs. The memory of the inputs must not change until the
   * promise settles: large tensors are sent from it without a copy. Outputs that the model left out are absent. The output tensors
   * may share one ArrayBuffer.
   *
   * Rejects with a TritonError, which has the server's code and message if the server refuses. INVALID_ARG: the inputs do not fit
   * the model, or the model is decoupled. UNAVAILABLE: the server cannot be reached, or the client is closed. DEADLINE_EXCEEDED: the
   * time is over. CANCELLED: by an abort, or by `close` while the call was under way.
   *
   * @example
   * await client.inferSample(Float32Array.of(1), Float32Array.of(2), { timeoutMs: 100 });
   */
  inferSample<Name extends OutputName<O> = OutputName<O>, Classified extends OutputName<O> = never>(
    ...inputs: InputArguments<I, Decoupled, InferOptions<Name, Classified>>
  ): Promise<AskedOutputs<O, Strict, Name, Classified>>;
  /** By name, or as a list. */
  inferSample<Name extends OutputName<O> = OutputName<O>, Classified extends OutputName<O> = never>(
    inputs: AnswersOnce<Decoupled, ClientInputs<I>>,
    options?: InferOptions<Name, Classified>,
  ): Promise<AskedOutputs<O, Strict, Name, Classified>>;
  inferSample(...args: readonly unknown[]): Promise<never> {
    return this.#infer('sample', args);
  }

  /**
   * Infers a batch: every tensor has the batch axis first, all inputs with the same number of rows. Rejects with
   * INVALID_ARG for models that do not batch; for all else see {@link inferSample}. With `chunk: true` a batch may have more rows than
   * the model takes at once.
   */
  inferBatch<Name extends OutputName<O> = OutputName<O>, Classified extends OutputName<O> = never>(
    ...inputs: InputArguments<I, Decoupled, BatchInferOptions<Name, Classified>>
  ): Promise<AskedOutputs<O, Strict, Name, Classified>>;
  /** By name, or as a list. */
  inferBatch<Name extends OutputName<O> = OutputName<O>, Classified extends OutputName<O> = never>(
    inputs: AnswersOnce<Decoupled, ClientInputs<I>>,
    options?: BatchInferOptions<Name, Classified>,
  ): Promise<AskedOutputs<O, Strict, Name, Classified>>;
  inferBatch(...args: readonly unknown[]): Promise<never> {
    return this.#infer('batch', args);
  }

  /**
   * The answers to one sample as they come, over gRPC or HTTP. A decoupled model gives any number of them. Inputs, outputs and errors
   * are as in {@link inferSample}; the loop throws the errors. `break` cancels the request at the server. The server waits for a
   * slow loop. `timeoutMs` is the longest time to wait for an answer. The request is sent when the loop asks for the first answer.
   *
   * @example
   * for await (const { token } of client.streamSample({ prompt: 'Once' })) process.stdout.write(token.data[0]);
   */
  streamSample<Name extends OutputName<O> = OutputName<O>, Classified extends OutputName<O> = never>(
    ...inputs: InputArguments<I, false, InferOptions<Name, Classified>>
  ): OutputStream<AskedOutputs<O, Strict, Name, Classified>>;
  /** By name, or as a list. */
  streamSample<Name extends OutputName<O> = OutputName<O>, Classified extends OutputName<O> = never>(
    inputs: ClientInputs<I>,
    options?: InferOptions<Name, Classified>,
  ): OutputStream<AskedOutputs<O, Strict, Name, Classified>>;
  streamSample(...args: readonly unknown[]): OutputStream<never> {
    return this.#stream('sample', args);
  }

  /** The answers to one batch as they come; for all else see {@link inferBatch} and {@link streamSample}. */
  streamBatch<Name extends OutputName<O> = OutputName<O>, Classified extends OutputName<O> = never>(
    ...inputs: InputArguments<I, false, InferOptions<Name, Classified>>
  ): OutputStream<AskedOutputs<O, Strict, Name, Classified>>;
  /** By name, or as a list. */
  streamBatch<Name extends OutputName<O> = OutputName<O>, Classified extends OutputName<O> = never>(
    inputs: ClientInputs<I>,
    options?: InferOptions<Name, Classified>,
  ): OutputStream<AskedOutputs<O, Strict, Name, Classified>>;
  streamBatch(...args: readonly unknown[]): OutputStream<never> {
    return this.#stream('batch', args);
  }

  /**
   * Any number of requests on one gRPC stream, and their answers as they come. A server behind a proxy, or one that keeps state, gets
   * them in order. Nothing is sent before the first request. Throws UNSUPPORTED over HTTP.
   *
   * @example
   * await using stream = client.stream();
   * await stream.send({ x: [1] });
   * const { value } = await stream.next();
   */
  stream<Name extends OutputName<O> = OutputName<O>, Classified extends OutputName<O> = never>(
    options: StreamOptions<Name, Classified> = {},
  ): InferStream<ClientInputs<I>, AskedOutputs<O, Strict, Name, Classified>> {
    const open = this.#transport.requestStream?.bind(this.#transport);
    if (open === undefined) {
      throw new TritonError(
        'UNSUPPORTED',
        `${this.#address} takes no stream of requests: expected grpc:// or grpcs://`,
      );
    }
    checkMembers(options, STREAM_MEMBERS, 'options of a stream');
    const asked = this.#complete(options, 'stream');
    const called = { ...this.#called(asked), retry: { ...asked.retry, maxAttempts: 1 } };
    return new InferStream({
      begin: () => this.#calls.beginStream(called),
      open: async (call) => {
        const model = this.#signature ?? (await this.#fetch.outcome(call));
        const stream = await this.#calls.send(call, called, async () => open(call, asked.headers));
        return { stream, model };
      },
      request: (inputs, kind, given, model) => {
        const parameters = { ...given.parameters, ...(model.decoupled && ASKS_FINAL_RESPONSE) };
        const { outputs, classes } = asked;
        const complete = { ...this.#complete({ ...given, parameters }, 'stream'), outputs, classes };
        return this.#request(encodeInputs(inputs, model, kind, 'stream'), complete, model);
      },
      decode: (outputs, kind, model) => decodeOutputs(outputs, model, kind, asked.classes),
      failed: (error) => this.#forgetIfStale(error),
      ended: (call) => this.#calls.end(call),
    });
  }

  /**
   * A sequence of requests to a model that keeps state, with START on the first and END on the last. Over gRPC its requests share one
   * stream. Nothing is sent before the first request. Throws INVALID_ARG; in browsers UNSUPPORTED.
   *
   * @example
   * await using sequence = client.sequence();
   * const { total } = await sequence.infer({ x: [1] });
   */
  sequence<Name extends OutputName<O> = OutputName<O>, Classified extends OutputName<O> = never>(
    options: InferSequenceOptions<Name, Classified> = {},
  ): InferSequence<AnswersOnce<Decoupled, ClientInputs<I>>, AskedOutputs<O, Strict, Name, Classified>> {
    const source: InferSequenceSource = {
      client: this,
      calls: this.#calls,
      isStreamed: this.#transport.requestStream !== undefined,
      called: (limits) => this.#called(this.#complete(limits, 'stream')),
      model: async (call) => this.#signature ?? this.#fetch.outcome(call),
    };
    return new InferSequence(source, options);
  }

  /** Cancels the calls in flight and closes all connections; settles when nothing is left open. */
  close(): Promise<void> {
    return this.#calls.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #infer(kind: InferKind, args: readonly unknown[]): Promise<never> {
    const { inputs, options } = inferArguments(args);
    const asked = this.#complete(options, kind);
    const called = this.#called(asked);
    return this.#calls.run(called, (call) =>
      this.#withSignature(call, async (signature) => {
        if (signature.decoupled) throw decoupledError(signature.name, kind);
        const tensors = encodeInputs(inputs, signature, kind);
        const send = (part: Call, request: ClassifiedRequest) =>
          this.#calls.send(part, called, () => this.#transport.infer(request, part, asked.headers));
        const chunks = asked.chunk ? chunkRows(tensors, signature.maxBatchSize) : undefined;
        if (chunks === undefined) {
          const { outputs } = await send(call, this.#request(tensors, asked, signature));
          return decodeOutputs(outputs, signature, kind, asked.classes) as never;
        }
        const parts = await this.#calls.parts(call, chunks.length, async (part, index) => {
          const { inputs: rows, ...range } = chunks[index]!;
          try {
            const { outputs } = await send(part, this.#request(rows, asked, signature));
            return decodeOutputs(outputs, signature, kind, asked.classes);
          } catch (error) {
            call.throwIfAborted();
            throw chunkError(TritonError.from(error), range);
          }
        });
        return joinOutputs(parts, chunks, signature.name) as never;
      }),
    );
  }

  #stream(kind: InferKind, args: readonly unknown[]): OutputStream<never> {
    const { inputs, options } = inferArguments(args);
    const asked = this.#complete(options, 'stream');
    const called = this.#called(asked);
    const stream = new OutputStream<Record<string, Tensor>>({
      begin: () => this.#calls.beginStream(called),
      open: (call) =>
        this.#withSignature(call, async (signature) => {
          const tensors = encodeInputs(inputs, signature, kind, 'stream');
          // Over HTTP, the parameter would reach the model.
          const asksFinal = signature.decoupled && this.#transport.requestStream !== undefined;
          const parameters = { ...asked.parameters, ...(asksFinal && ASKS_FINAL_RESPONSE) };
          const request = this.#request(tensors, { ...asked, parameters }, signature);
          const decode = (response: ModelInferResponse | undefined) =>
            response && decodeOutputs(response.outputs, signature, kind, asked.classes);
          // Until the first answer has come, the request can be sent again.
          const { responses, first } = await this.#calls.send(call, called, async () => {
            const sent = this.#transport.stream(request, signature, call, asked.headers);
            const first = decode(await sent.next());
            if (first === undefined && !signature.decoupled) throw noAnswerError();
            return { responses: sent, first };
          });
          return withFirst(first, {
            next: async () => decode(await responses.next()),
            cancel: () => responses.cancel(),
          });
        }),
      ended: (call) => this.#calls.end(call),
    });
    return stream as OutputStream<never>;
  }

  async #withSignature<T>(call: Call, work: (signature: ModelSignature) => Promise<T>): Promise<T> {
    try {
      return await work(this.#signature ?? (await this.#fetch.outcome(call)));
    } catch (error) {
      this.#forgetIfStale(error);
      throw error;
    }
  }

  /** The server may have loaded the model anew, with other tensors: then the next call asks for them. */
  #forgetIfStale(error: unknown): void {
    if (this.#askedAt === undefined || performance.now() - this.#askedAt < FRESH_MS) return;
    const { code } = TritonError.from(error);
    if (code === 'INVALID_ARG' || code === 'UNSUPPORTED') this.#signature = undefined;
  }

  #complete(options: unknown, kind: InferKind | 'stream'): CompleteInferOptions {
    return options === undefined ? this.#defaults : completeInferOptions(options as InferOptions, this.#options, kind);
  }

  #request(inputs: readonly InferTensor[], asked: CompleteInferOptions, model: ModelSignature): ClassifiedRequest {
    const { requestId, parameters, outputs, sequence, priority, timeoutMicroseconds, classes } = asked;
    return {
      modelName: this.#model.modelName,
      modelVersion: this.#model.modelVersion,
      id: requestId,
      parameters,
      inputs,
      outputs: classes === undefined ? outputs : outputsWith(classes, outputs, model),
      priority,
      timeoutMicroseconds,
      sequence,
      classes,
    };
  }

  // One fetch serves all calls that wait for it, so it has the client's own limits and headers. A failed one is
  // forgotten: the next call tries again.
  #fetchSignature(onCall: (call: Call) => void): Promise<ModelSignature> {
    const { retry, headers } = this.#options;
    const called = this.#called({ ...this.#options, retry: { ...retry, idempotent: true }, signal: undefined });
    return this.#calls.run(called, async (call) => {
      onCall(call);
      const fetch = () =>
        this.#transport.modelSignature(this.#model, call, headers).catch(async (error: unknown) => {
          if (!TritonError.is(error) || !lacksConfigurations(error)) throw error;
          return signatureOfMetadata(await this.#transport.ask(modelMetadata(this.#model), call, headers));
        });
      this.#askedAt = performance.now();
      // Without a turn: the calls that have theirs may be waiting for it.
      this.#signature = await this.#calls.attempts(call, called, fetch);
      return this.#signature;
    });
  }

  #called({ timeoutMs, signal, retry, onTimings }: CallLimits): BegunCall {
    const subject = `model '${this.#model.modelName}' at ${this.#address}`;
    return { timeoutMs, signal, retry, onTimings, subject };
  }
}

/** A signature is not asked for again within this time: requests that do not fit are mostly the caller's mistakes, or the model refuses them. */
const FRESH_MS = 1000;

/** A parameter of Triton: with it, each request to a decoupled model gets a last answer, even if that is empty. */
const ASKS_FINAL_RESPONSE = { triton_enable_empty_final_response: true };

/**
 * The client of a declared model, or of the bound object. Use it as the type of a function's parameter.
 *
 * @example
 * async function sum(client: ClientOf<typeof addSub>) { … }
 */
export type ClientOf<M> =
  M extends ModelSpec<infer I, infer O, infer Decoupled, infer Strict> ? ModelClient<I, O, Decoupled, Strict> : never;

/** Classes may be asked only of the requested outputs. Without requested outputs, all are requested. Throws INVALID_ARG. */
function outputsWith(
  classes: ReadonlyMap<string, number>,
  outputs: readonly string[],
  model: ModelSignature,
): readonly string[] {
  const asked = outputs.length > 0 ? outputs : model.outputs.map(({ name }) => name);
  for (const name of classes.keys()) {
    if (asked.includes(name)) continue;
    throw new TritonError(
      'INVALID_ARG',
      `classes names '${name}', which is none of the outputs that are asked of model '${model.name}': ${asked.join(', ')}`,
    );
  }
  return asked;
}

function decoupledError(model: string, kind: InferKind): TritonError {
  const [infers, streams] = kind === 'sample' ? ['inferSample', 'streamSample'] : ['inferBatch', 'streamBatch'];
  return new TritonError(
    'INVALID_ARG',
    `model '${model}' is decoupled: it answers a request any number of times, and ${infers} takes one answer; use ${streams}`,
  );
}
