// One request to a streaming model on a fresh connection, over gRPC, as server-sent events or as a chat of the OpenAI API, read
// to its end: every response is cut out and counted, the first and the last must carry their numbers.

import { connect } from 'node:net';

import { chatRequest, generateRequest, grpcStreamRequest, STREAM_MODEL } from '../callables-workload.js';
import { readFields } from '../protobuf-bytes.js';
import { opening, requestTemplate } from './http2-frames.js';
import { rawHttpRequest } from './raw-http-request.js';
import { GrpcStreamParser, SseParser } from './stream-parsers.js';
import type { StreamEvents } from './stream-parsers.js';

export interface StreamOrder {
  readonly kind: 'grpc' | 'sse' | 'chat';
  readonly port: number;
  readonly count: number;
}

/** From when the request was written; CPU of this process in microseconds. */
export interface StreamReport {
  readonly firstMs: number;
  readonly seconds: number;
  readonly bytes: number;
  readonly clientCpu: number;
}

function grpcRequest({ port, count }: StreamOrder): Buffer {
  const path = '/inference.GRPCInferenceService/ModelStreamInfer';
  const call = { path, authority: `127.0.0.1:${port}`, message: grpcStreamRequest(count) };
  const { bytes, dataAt } = requestTemplate(call, true);
  bytes.writeUInt32BE(1, 5);
  bytes.writeUInt32BE(1, dataAt + 5);
  return bytes;
}

function sseRequest({ kind, port, count }: StreamOrder): Buffer {
  if (kind === 'chat') return rawHttpRequest(port, '/v1/chat/completions', chatRequest(count));
  return rawHttpRequest(port, `/v2/models/${STREAM_MODEL}/generate_stream`, generateRequest(count));
}

function bytesField(message: Buffer, number: number): Buffer {
  const value = readFields(message).find((field) => field.number === number)?.value;
  if (value instanceof Buffer) return value;
  throw new Error(`no field ${number} in the message ${message.toString('latin1')}`);
}

// Of a ModelStreamInferResponse, or of an event.
function valueOf(kind: StreamOrder['kind'], message: Buffer): number {
  if (kind === 'grpc') return bytesField(bytesField(message, 2), 6).readInt32LE();
  const event = JSON.parse(message.toString().slice('data: '.length)) as {
    readonly y?: unknown;
    readonly choices?: readonly [{ readonly delta: { readonly content?: string } }];
  };
  return Number(event.choices === undefined ? event.y : event.choices[0].delta.content);
}

/** Events around the responses: the role before them, the reason of the end and `[DONE]` after them. */
const AROUND = { grpc: [0, 0], sse: [0, 0], chat: [1, 2] } as const satisfies Record<
  StreamOrder['kind'],
  readonly number[]
>;

export function askStream(order: StreamOrder): Promise<StreamReport> {
  const { kind, port, count } = order;
  const [before, after] = AROUND[kind];
  return new Promise((resolve, reject) => {
    let asked = NaN;
    let first = NaN;
    let cpu = process.cpuUsage();
    let bytes = 0;
    let messages = 0;
    const last = Buffer.alloc(4096);
    let lastLength = 0;
    const expectValue = (message: Buffer, expected: number): void => {
      const value = valueOf(kind, message);
      if (value !== expected) throw new Error(`a response with ${value}, expected ${expected}`);
    };
    const events: StreamEvents = {
      ready: () => {
        if (!Number.isNaN(asked)) return;
        const request = kind === 'grpc' ? grpcRequest(order) : sseRequest(order);
        cpu = process.cpuUsage();
        asked = performance.now();
        socket.write(request);
      },
      write: (answer) => void socket.write(answer),
      message: (message) => {
        const index = messages++ - before;
        if (index < 0 || index >= count) return;
        if (index === 0) {
          first = performance.now();
          expectValue(message, 0);
        }
        lastLength = message.copy(last);
      },
      ended: () => {
        const seconds = (performance.now() - asked) / 1000;
        const { user, system } = process.cpuUsage(cpu);
        const expected = before + count + after;
        if (messages !== expected) throw new Error(`${messages} events, expected ${expected}`);
        expectValue(last.subarray(0, lastLength), count - 1);
        resolve({ firstMs: first - asked, seconds, bytes, clientCpu: user + system });
        socket.destroy();
      },
    };
    const parser = kind === 'grpc' ? new GrpcStreamParser(events) : new SseParser(events);
    const buffer = Buffer.allocUnsafeSlow(1 << 16);
    const callback = (length: number): boolean => {
      bytes += length;
      try {
        parser.read(buffer, length);
      } catch (error) {
        reject(error instanceof Error ? error : new Error(String(error)));
        socket.destroy();
      }
      return true;
    };
    const socket = connect({ host: '127.0.0.1', port, noDelay: true, onread: { buffer, callback } });
    socket.once('connect', () => {
      if (kind === 'grpc') socket.write(opening());
      else events.ready();
    });
    socket.once('error', reject);
    socket.once('close', () => reject(new Error(`the connection closed after ${messages} of ${count} responses`)));
  });
}
