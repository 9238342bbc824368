// One ModelStreamInfer call with any number of requests and their responses. A failed request does not end the call: its error
// comes as a message of its own.

import type { Http2Stream } from '../../http2/http2-stream.js';
import { encodeInferRequest } from '../../protocol/grpc/encode-infer-request.js';
import type { ClassifiedRequest } from '../../protocol/classified-request.js';
import type { Call } from '../call.js';
import type { RequestStream, StreamedResponse } from '../transport.js';
import type { GrpcRequest } from './grpc-exchange.js';
import { GrpcStreamCall } from './grpc-stream-call.js';
import type { Http2Connection } from './http2-connection.js';
import { readStreamAnswer } from './stream-answer.js';

export class GrpcRequestStream implements RequestStream {
  readonly #call: SendingCall;

  /** `request` has no message yet. */
  constructor(connection: Http2Connection, request: Omit<GrpcRequest, 'chunks' | 'method'>, call: Call) {
    this.#call = new SendingCall(connection, { ...request, method: 'ModelStreamInfer', chunks: [] }, call).start();
  }

  get isOver(): boolean {
    return this.#call.isOver;
  }

  send(request: ClassifiedRequest): Promise<void> {
    return this.#call.send(encodeInferRequest(request));
  }

  end(): void {
    this.#call.endRequests();
  }

  async next(): Promise<StreamedResponse | undefined> {
    const step = await this.#call.next();
    if (step.kind === 'unprocessed') throw step.error;
    return step.kind === 'end' ? undefined : readStreamAnswer(step.message);
  }

  cancel(): void {
    this.#call.cancel();
  }
}

class SendingCall extends GrpcStreamCall {
  readonly #queued: Uint8Array[] = [];
  #endsRequests = false;
  #drained: (() => void)[] = [];

  /** Settles when there is room for more, or none is needed any more. */
  async send(chunks: readonly Uint8Array[]): Promise<void> {
    const { stream } = this;
    let hasRoom = false;
    if (stream === undefined) this.#queued.push(...chunks);
    else for (const chunk of chunks) hasRoom = stream.sendData(chunk);
    if (!hasRoom && !this.isOver) await new Promise<void>((resolve) => this.#drained.push(resolve));
  }

  endRequests(): void {
    this.#endsRequests = true;
    this.stream?.sendData(new Uint8Array(0), true);
  }

  override opened(stream: Http2Stream): void {
    super.opened(stream);
    let hasRoom = true;
    for (const chunk of this.#queued.splice(0)) hasRoom = stream.sendData(chunk);
    if (this.#endsRequests) stream.sendData(new Uint8Array(0), true);
    if (hasRoom) this.onDrain();
  }

  onDrain(): void {
    for (const resolve of this.#drained.splice(0)) resolve();
  }

  /** Wakes the senders that wait for room: they learn of the end with the next answer. */
  protected override finished(): void {
    this.onDrain();
  }
}
