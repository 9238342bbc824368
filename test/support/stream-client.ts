// The client's side of a stream whose server side is a StreamCall without a transport.

import { fromBinary, toJson, type DescMessage } from '@bufbuild/protobuf';

import { StreamCall, type StreamMethod } from '../../src/frontend/grpc/stream-call.js';
import { frameMessage, MessageFrameReader } from '../../src/protocol/grpc/message-frame.js';
import { readFrames } from './read-frames.js';
import { RecordedCall } from './recorded-call.js';

export interface StreamClientOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly maxMessageSize?: number;
}

export class StreamClient {
  readonly call: RecordedCall;
  readonly listener: StreamCall;
  /** How often the call has told that it ended. */
  ended = 0;

  constructor(method: StreamMethod, { headers = {}, maxMessageSize = 1 << 20 }: StreamClientOptions = {}) {
    this.call = new RecordedCall(headers);
    this.listener = new StreamCall(this.call, method, { maxMessageSize, onEnd: () => void this.ended++ });
  }

  send(...messages: readonly Uint8Array[]): void {
    this.listener.onData(Buffer.concat(messages.map((message) => frameMessage(message))));
  }

  halfClose(): void {
    this.listener.onEnd();
  }

  /** The messages that came, decoded; those that are sent at the end of this turn of the event loop as well. */
  async received(schema: DescMessage): Promise<readonly unknown[]> {
    const messages = await this.receivedBytes();
    return messages.map((message) => toJson(schema, fromBinary(schema, message), { useProtoFieldName: true }));
  }

  async receivedBytes(): Promise<readonly Buffer[]> {
    await new Promise((resolve) => setImmediate(resolve));
    return readFrames(new MessageFrameReader(2 ** 31 - 1, undefined), Buffer.concat(this.call.writes));
  }
}
