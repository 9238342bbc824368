// Parts of the build that no entry point of the package exports, by what the benchmarks need of them.

export interface Tensor {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
  readonly bytes: Uint8Array;
}

export interface InferRequest {
  readonly modelName: string;
  readonly inputs: readonly Tensor[];
}

export interface InferResponse {
  readonly modelName: string;
  readonly modelVersion: string;
  readonly id: string;
  readonly parameters: undefined;
  readonly outputs: readonly Tensor[];
}

export interface ExecutionRequest {
  readonly id: string;
  readonly parameters: undefined;
  readonly inputs: readonly Tensor[];
  readonly rows: number;
  readonly memory: undefined;
  readonly requestedOutputs: readonly string[];
}

type Result = { readonly kind: 'outputs'; readonly outputs: readonly Tensor[]; readonly parameters: undefined };
type Done = (results: readonly ({ readonly kind: string } | Result)[], times: object) => void;

export interface Instance {
  readonly inOtherThread?: boolean;
  execute(batch: readonly ExecutionRequest[], done: Done): { cancel(index: number): void };
}

export interface Sink {
  respond(response: InferResponse): void;
  complete(): void;
  fail(error: Error): void;
}

interface Engine {
  readonly repository: {
    add(config: object): { serve(opening: { readonly instances: readonly Instance[] }): void };
  };
  infer(request: InferRequest, sink: Sink): unknown;
  started(): void;
}

type Paced<T> = Generator<undefined, T, undefined>;

/** A well-formed request, before its model is known. */
interface Form<T> {
  complete(config: object, sharedMemory: object): Paced<T>;
}

interface Services {
  readonly logger: object;
}

interface Modules {
  'model/complete-model.js': { readonly completeModelConfig: (spec: object, instances: number) => object };
  'pacing/paced-work.js': { readonly finishPaced: <T>(work: Paced<T>) => T };
  'protocol/grpc/decode-infer-request.js': {
    readonly decodeInferRequest: (message: Buffer) => Paced<Form<{ readonly request: InferRequest }>>;
  };
  'protocol/grpc/encode-infer-response.js': {
    readonly encodeInferResponse: (response: InferResponse) => readonly Uint8Array[];
  };
  'protocol/http/decode-infer-request.js': {
    readonly decodeInferRequest: (
      body: object,
    ) => Paced<Form<{ readonly request: InferRequest; readonly binaryOutputs: object }>>;
  };
  'protocol/http/encode-infer-response.js': {
    readonly encodeInferResponse: (
      response: InferResponse,
      binaryOutputs: object,
    ) => Paced<{ readonly parts: readonly Uint8Array[]; readonly contentLength: number }>;
  };
  'protocol/http/known-requests.js': { readonly KnownRequests: new () => object };
  'core/inference-server.js': {
    readonly InferenceServer: new (options: object) => Engine;
  };
  'core/engine-logger.js': { readonly SILENT: object };
  'host/callable-turns.js': { readonly hostedCallable: (callable: unknown, concurrency: number) => object };
  'link/inline-instance.js': {
    readonly InlineInstance: new (config: object, hosted: object, services: Services) => Instance;
  };
  'link/channel.js': { readonly PortChannel: new (port: unknown) => object };
  'link/channel-instance.js': { readonly ChannelInstance: new (config: object, channel: object) => Instance };
  'link/channel-host.js': {
    readonly ChannelHost: new (channel: object, config: object, hosted: object, services: Services) => object;
  };
}

// Compiled, this module is build/bench/parts-build.js.
export async function load<Path extends keyof Modules>(path: Path): Promise<Modules[Path]> {
  return (await import(new URL(`../../dist/${path}`, import.meta.url).href)) as Modules[Path];
}
