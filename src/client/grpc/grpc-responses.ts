// The responses to one request over ModelStreamInfer.

import type { ModelInferResponse } from '../../model/exchange.js';
import { onlyEnds } from '../../protocol/grpc/decode-stream-message.js';
import type { Call } from '../call.js';
import { connectionError } from '../connection-error.js';
import type { GrpcRequest } from './grpc-exchange.js';
import { GrpcStreamCall, type StreamStep } from './grpc-stream-call.js';
import type { Http2Connection } from './http2-connection.js';
import { readStreamAnswer } from './stream-answer.js';
import type { ResponseStream } from '../transport.js';

export interface GrpcStreamRequest extends GrpcRequest {
  readonly decoupled: boolean;
  /** The connection to use; another one after it was retired. */
  readonly connection: () => Http2Connection;
  readonly habits: ServerHabits;
}

/** What a server was seen to do. */
export interface ServerHabits {
  /** Whether it says of each answer if it is the last. Other servers than Triton do not. */
  saysFinal: boolean;
}

export class GrpcResponses implements ResponseStream {
  readonly #request: GrpcStreamRequest;
  readonly #call: Call;
  #stream: GrpcStreamCall;
  #connection: Http2Connection;
  #resent = false;
  /** Whether the last answer has come. */
  #isComplete = false;

  /** Sends the request. */
  constructor(request: GrpcStreamRequest, call: Call) {
    this.#request = request;
    this.#call = call;
    this.#connection = request.connection();
    this.#stream = new GrpcStreamCall(this.#connection, request, call).start();
  }

  async next(): Promise<ModelInferResponse | undefined> {
    for (;;) {
      const step = await this.#step();
      if (step.kind === 'unprocessed') throw step.error;
      const { address, decoupled, habits } = this.#request;
      if (step.kind === 'end') {
        // A tritonserver that shuts down ends its streams in order.
        if (decoupled && habits.saysFinal && !this.#isComplete)
          throw connectionError(new Error('it ended the stream before the last answer'), address);
        return undefined;
      }
      const answer = readStreamAnswer(step.message);
      if (answer.error !== undefined) throw answer.error;
      habits.saysFinal ||= answer.final !== undefined;
      this.#isComplete ||= answer.final === true;
      if (!onlyEnds(answer, decoupled)) return answer.response;
    }
  }

  cancel(): void {
    this.#stream.cancel();
  }

  // What a server refuses unprocessed (its GOAWAY crossed our request) is sent once more, over a new connection.
  async #step(): Promise<StreamStep> {
    const connection = this.#connection;
    const step = await this.#stream.next();
    if (step.kind !== 'unprocessed' || this.#resent) return step;
    this.#resent = true;
    this.#call.throwIfAborted();
    connection.retire();
    this.#connection = this.#request.connection();
    this.#stream = new GrpcStreamCall(this.#connection, this.#request, this.#call).start();
    return this.#stream.next();
  }
}
