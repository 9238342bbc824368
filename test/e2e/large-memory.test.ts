// Memory of large requests and answers is used again: nobody may find another's bytes in it, however slowly answers are read and
// whatever callables keep.
import { connect, type Socket } from 'node:net';

import { describe, expect, it } from 'vitest';

import type { Triton, TritonConfig } from 'tstriton';

import { floatTensor, GrpcService, inferMessage, type InferMessage } from '../support/grpc-client.js';
import { binaryBody, expectAlive, post } from '../support/http-infer.js';
import { framed, rawGrpcCall } from '../support/raw-grpc.js';
import { RawConnection } from '../support/raw-http.js';
import { startServer } from '../support/start-server.js';

/** 8 MB: more than sockets keep for a client that does not read. */
const COUNT = 2_000_000;
const FLOATS = { dtype: 'float32', shape: [-1] } as const;
const CONFIG: TritonConfig = { cacheConfig: ['local,size=67108864'] };

interface Kept {
  readonly value: number;
  readonly data: Float32Array;
}

/** Models that answer with what they get, and keep it. */
function bindTo(kept: Kept[]) {
  return (triton: Triton): void => {
    const model = { inputs: { x: FLOATS }, outputs: { y: FLOATS, first: { dtype: 'float32', shape: [1] } } } as const;
    for (const [modelName, config] of [
      ['alone', { batching: false }],
      ['together', { maxBatchSize: 4 }],
      ['cached', { batching: false, responseCache: true }],
    ] as const) {
      const rank = modelName === 'together' ? 1 : 0;
      triton.bind({
        modelName,
        ...model,
        config,
        inferFunc: (requests) =>
          requests.map(({ inputs: { x } }) => {
            kept.push({ value: x.data[0]!, data: x.data });
            const first = x.data[0]!;
            return { y: x, first: rank === 0 ? [first] : [[first]] };
          }),
      });
    }
  };
}

const valuesOf = (value: number) => new Float32Array(COUNT).fill(value);
const shapeOf = (model: string) => (model === 'together' ? [1, COUNT] : [COUNT]);

/** A body whose JSON is of another length each time, so that tensors begin anywhere. */
function bodyOf(model: string, value: number) {
  const bytes = new Uint8Array(valuesOf(value).buffer);
  const input = { name: 'x', datatype: 'FP32', shape: shapeOf(model), bytes };
  return binaryBody([input], { id: 'i'.repeat((value % 7) + 1), parameters: { binary_data_output: true } });
}

/** Whether the outputs of a request for so many times one value are its own. */
function isRight(y: Uint8Array, first: Uint8Array, value: number): boolean {
  const expected = Buffer.from(valuesOf(value).buffer);
  return expected.equals(y) && first.byteLength === 4 && Buffer.from(first).readFloatLE() === value;
}

async function askHttp(http: string, model: string, value: number): Promise<boolean> {
  const { body, headers } = bodyOf(model, value);
  const { status, binary } = await post(http, model, body, { headers });
  return status === 200 && isRight(binary.subarray(0, COUNT * 4), binary.subarray(COUNT * 4), value);
}

async function askGrpc(service: GrpcService, model: string, value: number): Promise<boolean> {
  const tensor = { ...floatTensor('x', valuesOf(value)), shape: shapeOf(model) };
  const request = { ...inferMessage(model, [tensor]), id: 'i'.repeat((value % 7) + 1) };
  const { raw_output_contents: raw } = await service.call<InferMessage>('ModelInfer', request);
  return isRight(raw![0]!, raw![1]!, value);
}

/** Requests one after the other on one stream, answered in their order. */
async function askStream(service: GrpcService, model: string, values: readonly number[]): Promise<boolean> {
  const stream = service.stream();
  for (const value of values) {
    stream.call.write(inferMessage(model, [{ ...floatTensor('x', valuesOf(value)), shape: shapeOf(model) }]));
  }
  stream.call.end();
  const { code } = await stream.status;
  const answers = stream.messages as unknown as readonly { readonly infer_response: InferMessage }[];
  return (
    code === 0 &&
    answers.length === values.length &&
    answers.every(({ infer_response: { raw_output_contents: raw } }, i) => isRight(raw![0]!, raw![1]!, values[i]!))
  );
}

/** Several requests of one connection, whose answers are read when told. */
class SlowClient {
  readonly #socket: Socket;
  readonly #values: readonly number[];

  constructor(port: number, model: string, values: readonly number[]) {
    this.#values = values;
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true }).pause();
    for (const value of values) {
      const { body, headers } = bodyOf(model, value);
      const lines = Object.entries({ ...headers, host: 'localhost', 'content-length': String(body.length) });
      const head = lines.map(([name, text]) => `${name}: ${text}\r\n`).join('');
      this.#socket.write(`POST /v2/models/${model}/infer HTTP/1.1\r\n${head}\r\n`);
      this.#socket.write(body);
    }
    // Nothing comes after it.
    this.#socket.write('nonsense\r\n\r\n');
  }

  async read(): Promise<boolean[]> {
    let bytes = Buffer.concat((await this.#socket.toArray()) as Buffer[]);
    return this.#values.map((value) => {
      const head = bytes.subarray(0, bytes.indexOf('\r\n\r\n') + 4);
      const number = (name: string) => Number(new RegExp(`^${name}: (\\d+)`, 'im').exec(String(head))?.[1]);
      const end = head.length + number('content-length');
      const outputs = bytes.subarray(head.length + number('inference-header-content-length'), end);
      bytes = bytes.subarray(end);
      return isRight(outputs.subarray(0, COUNT * 4), outputs.subarray(COUNT * 4), value);
    });
  }
}

describe.each([{ serverThread: true }, { serverThread: false }])('large memory with %o', (mode) => {
  it('is used again without anybody finding the bytes of others in it', async () => {
    const kept: Kept[] = [];
    await using server = await startServer(bindTo(kept), { ...CONFIG, ...mode });
    using service = new GrpcService(server.grpc);
    const port = Number(new URL(server.http).port);
    let value = 0;
    for (let round = 0; round < 2; round++) {
      const slow: SlowClient[] = [];
      const asked = ['alone', 'together', 'cached'].flatMap((model) => {
        // What is cached is asked for by several at once.
        const same = ++value;
        slow.push(new SlowClient(port, model, [same, ++value]));
        return [
          askHttp(server.http, model, same),
          askHttp(server.http, model, same),
          askGrpc(service, model, ++value),
          askStream(service, model, [++value, ++value, same]),
        ];
      });
      expect(await Promise.all(asked)).not.toContain(false);
      for (const client of slow) expect(await client.read()).toEqual([true, true]);
    }
    expect(kept.length).toBeGreaterThan(20);
    for (const { value: own, data } of kept) expect(data.every((number) => number === own)).toBe(true);
  });

  it('is not taken for messages beyond 2 GB, which are refused by their length', async () => {
    await using server = await startServer(bindTo([]), { ...CONFIG, ...mode, maxInflightBytes: 8 * 2 ** 30 });
    await using connection = await RawConnection.open(Number(new URL(server.http).port));
    await connection.send(`POST /v2/models/alone/infer HTTP/1.1\r\nhost: a\r\ncontent-length: ${2 ** 31 + 1}\r\n\r\n`);
    const answer = (await connection.answer())!;
    expect([answer.status, JSON.parse(String(answer.body))]).toEqual([
      400,
      { error: 'request size of 2147483649 bytes exceeds the maximum allowed input size of 2147483648 bytes' },
    ]);
    await connection.closed();
    const prefix = framed(Buffer.alloc(0));
    prefix.writeUInt32BE(2 ** 31, 1);
    const { status } = await rawGrpcCall(server.grpc, '/inference.GRPCInferenceService/ModelInfer', prefix);
    expect(status).toEqual({ code: 8, message: 'Received message larger than max (2147483648 vs. 2147483647)' });
    await expectAlive(server.http);
  });
});
