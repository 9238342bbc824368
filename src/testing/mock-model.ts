// A model that gives a test's answers and remembers its requests: for tests of applications that have a client.

import { OPEN_TRANSPORT, type InProcessServer } from '../in-process/open-transport.js';
import { expectObject, textOf } from '../checks/check.js';
import { invalidArg, TritonError } from '../errors.js';
import type { Awaitable } from '../model/awaitable.js';
import type { InferenceRequest, ModelSpec, Result } from '../model/callable.js';
import type { TensorSpecs } from '../model/tensor-spec.js';
import type { InProcessRun } from '../frontend/served-core.js';
import { RUN_IN_PROCESS } from '../server/in-process.js';
import { Triton } from '../triton.js';
import { InProcessTransport } from '../in-process/in-process-transport.js';

/** What a mock answers to one request: outputs, as a callable returns them, or what it throws; of a decoupled model any number of them. */
export type MockAnswer<I extends TensorSpecs, O extends TensorSpecs, Decoupled extends boolean> = (
  request: InferenceRequest<I>,
) => Decoupled extends true ? AsyncIterable<Result<I, O>> | Iterable<Result<I, O>> : Awaitable<Result<I, O>>;

/**
 * Makes a model that answers what `answer` returns for each request, in this process. Clients take it in the place of a URL; they
 * and the engine check inputs and outputs as ever. Tensors of requests and answers have the batch axis, as in callables.
 *
 * @example
 * await using mock = mockModel(addSub, ({ inputs: { a } }) => ({ add: a, sub: a }));
 * await using client = new ModelClient(mock, addSub);
 * await client.inferSample({ a: [1], b: [2] });
 * expect(mock.requests[0]!.inputs.b.toNested()).toEqual([[2]]);
 */
export function mockModel<
  const I extends TensorSpecs,
  const O extends TensorSpecs,
  const Decoupled extends boolean = false,
>(model: ModelSpec<I, O, Decoupled>, answer: MockAnswer<I, O, Decoupled>): MockModel<I, O, Decoupled> {
  return new MockModel(model, answer);
}

type AnyAnswer = (request: InferenceRequest) => unknown;

/** What `mockModel` gives. */
export class MockModel<I extends TensorSpecs, O extends TensorSpecs, Decoupled extends boolean>
  implements InProcessServer, AsyncDisposable
{
  /** The requests so far, oldest first. To forget them: `requests.length = 0`. */
  readonly requests: InferenceRequest<I>[] = [];
  /** Answers from now on. */
  answer: MockAnswer<I, O, Decoupled>;
  readonly #triton: Triton;
  #run: Promise<InProcessRun> | undefined;
  #closed = false;

  /** Throws INVALID_ARG for a declaration that `bind` refuses. */
  constructor(model: ModelSpec<I, O, Decoupled>, answer: MockAnswer<I, O, Decoupled>) {
    expectObject(model, 'the declaration of a mock');
    if (typeof answer !== 'function')
      throw invalidArg(`the answer of a mock must be a function, got ${textOf(answer)}`);
    this.answer = answer;
    this.#triton = new Triton({ logError: false, logWarning: false, logInfo: false });
    const decoupled = model.config?.decoupled === true;
    // Requests are answered one by one, as many at a time as come.
    const config = { ...model.config, batcher: null, ...(!decoupled && { concurrency: 1000 }) };
    const inferFunc = decoupled
      ? (requests: readonly InferenceRequest[]) => this.#stream(requests[0]!)
      : async (requests: readonly InferenceRequest[]) => [await this.#answer(requests[0]!)];
    this.#triton.bind({ ...model, config, inferFunc } as never);
  }

  #answer(request: InferenceRequest): unknown {
    this.requests.push(request as InferenceRequest<I>);
    return (this.answer as unknown as AnyAnswer)(request);
  }

  async *#stream(request: InferenceRequest): AsyncGenerator<readonly unknown[]> {
    for await (const outputs of this.#answer(request) as AsyncIterable<unknown>) yield [outputs];
  }

  /** For clients of this package. */
  [OPEN_TRANSPORT](): unknown {
    return new InProcessTransport(() => {
      if (this.#closed) return Promise.reject(new TritonError('UNAVAILABLE', 'the mock is closed'));
      return (this.#run ??= this.#triton[RUN_IN_PROCESS]() as Promise<InProcessRun>);
    });
  }

  /** Fails the requests under way. Idempotent. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#triton.stop();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
