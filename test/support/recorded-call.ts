// A gRPC call without a transport, which remembers what was done with it.

import { callHead, type CallHead, type GrpcCall, type ResponseHeaders } from '../../src/frontend/grpc/grpc-call.js';
import { HeldRoom } from './held-room.js';

export class RecordedCall extends HeldRoom implements GrpcCall {
  readonly head: CallHead;
  /** How it ended: the answer, or status, message and further headers. */
  readonly ends: unknown[] = [];
  /** What was written, a buffer for each time. */
  readonly writes: Buffer[] = [];
  /** The headers of the answer. */
  headers: ResponseHeaders | undefined;
  /** Whether the client has to wait. */
  paused = false;
  /** What writes answer: whether the reader keeps up. */
  readerReady = true;

  constructor(headers: ResponseHeaders = {}) {
    super();
    const header = (name: string) => headers[name];
    this.head = callHead({ path: '/test.Service/Method', header, rawHeaders: Object.entries(headers).flat() });
  }

  respond(frame: readonly Uint8Array[], headers?: ResponseHeaders): void {
    this.headers = headers;
    this.ends.push(Buffer.concat(frame).toString());
  }

  write(frames: readonly Uint8Array[], headers?: ResponseHeaders): boolean {
    this.headers ??= headers;
    this.writes.push(Buffer.concat(frames));
    return this.readerReady;
  }

  end(): void {
    this.ends.push('OK');
  }

  fail(status: number, message: string, headers?: ResponseHeaders): void {
    this.ends.push(headers === undefined ? [status, message] : [status, message, headers]);
  }

  reset(): void {
    this.ends.push('reset');
  }

  pause(): void {
    this.paused = true;
  }

  resume(): void {
    this.paused = false;
  }

  /** Where the next bytes belong. */
  target: Uint8Array | undefined;

  receiveInto(target: Uint8Array): void {
    this.target = target;
  }
}
