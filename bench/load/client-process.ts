// A client in a process of its own: an order has it ask a server for so long, so many calls at a time, and is answered with the CPU
// time of a call. Each answer is looked at: the values that were sent must be in it.
// Usage: client-process.js <client> <port> <small|large>

import { Client as GrpcClient, credentials } from '@grpc/grpc-js';
import { Agent, request as httpRequest } from 'node:http';
import { Pool } from 'undici';

import { ModelClient } from 'tstriton/client';

import { serveControl } from '../control-channel.js';
import * as identity from '../identity-wire.js';
import * as large from '../large-wire.js';
import { modelInfer } from '../real-clients.js';
import { bytesOf, type HttpForm, IDS } from '../tensor-wire.js';

/** Both are as many as fit on one core beside the server. */
const AT_ONCE = { small: 16, large: 2 } as const;
const LARGE_BYTES = 1 << 20;
/** With their forms these take 12 MB. */
const LARGE_REQUESTS = 4;

const [client, portText, size] = process.argv.slice(2);
const port = Number(portText);
if (size !== 'small' && size !== 'large') throw new Error(`expected small or large, got ${size}`);
const atOnce = AT_ONCE[size];

/** Makes call `k`; checks that the answer has the bytes that it must end with. */
type Caller = (k: number) => Promise<void>;

interface Caught {
  readonly call: Caller;
  close(): unknown;
}

/** A request in each form, its values, and the bytes that its answer ends with. */
interface Asked {
  readonly values: readonly Float32Array[];
  readonly tail: Buffer;
  readonly form: HttpForm;
  readonly message: Buffer;
}

const model = size === 'small' ? identity.MODEL : large.ECHO;
const path = `/v2/models/${model}/infer`;
const ASKED = size === 'small' ? IDS.map(smallRequest) : IDS.slice(0, LARGE_REQUESTS).map(largeRequest);

function smallRequest(_: string, k: number): Asked {
  const values = identity.VALUES[k]!;
  const [form, message] = [identity.binaryRequests[k]!, identity.grpcRequests[k]!];
  return { values, tail: bytesOf(values[1]), form, message };
}

function largeRequest(id: string, k: number): Asked {
  const bytes = large.valuesOf(LARGE_BYTES, k * LARGE_BYTES);
  const values = [new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4)];
  const message = large.grpcRequest(model, bytes, id);
  return { values, tail: bytes.subarray(-64), form: large.httpRequest(bytes, id), message };
}

function asked(k: number): Asked {
  return ASKED[k % ASKED.length]!;
}

function check(k: number, bytes: Uint8Array): void {
  const { tail } = asked(k);
  if (Buffer.compare(tail, bytes.subarray(bytes.byteLength - tail.length)) !== 0)
    throw new Error(`wrong answer to ${client}: other values`);
}

function ours(scheme: 'http' | 'grpc'): Caught {
  const tensor = { dtype: 'float32', shape: [-1] } as const;
  const [inputs, outputs, last, config] =
    size === 'small'
      ? [{ a: tensor, b: tensor }, { c: tensor, d: tensor }, 'd', { maxBatchSize: 64 }]
      : [{ x: tensor }, { y: tensor }, 'y', { batching: false }];
  const asking = new ModelClient(`${scheme}://127.0.0.1:${port}`, { modelName: model, inputs, outputs, config });
  const given = ASKED.map(({ values }) => Object.fromEntries(Object.keys(inputs).map((name, i) => [name, values[i]])));
  return {
    call: async (k) => {
      const options = { requestId: IDS[k % ASKED.length]! };
      const answer = (await asking.inferSample(given[k % ASKED.length] as never, options)) as Answered;
      check(k, bytesOf(answer[last as string]!.data));
    },
    close: () => asking.close(),
  };
}

type Answered = Record<string, { readonly data: Float32Array }>;

function bareNode(): Caught {
  const agent = new Agent({ keepAlive: true });
  const sent = ASKED.map(({ form: { headers, body } }) => ({ ...headers, 'content-length': body.length }));
  return {
    call: (k) =>
      new Promise((resolve, reject) => {
        const request = httpRequest(
          { host: '127.0.0.1', port, path, method: 'POST', headers: sent[k % sent.length]!, agent },
          (response) => {
            const chunks: Buffer[] = [];
            response.on('data', (chunk: Buffer) => chunks.push(chunk));
            response.on('error', reject);
            response.on('end', () => {
              check(k, chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks));
              resolve();
            });
          },
        );
        request.on('error', reject);
        request.end(asked(k).form.body);
      }),
    close: () => agent.destroy(),
  };
}

function undici(): Caught {
  const pool = new Pool(`http://127.0.0.1:${port}`, { connections: atOnce });
  return {
    call: async (k) => {
      const { headers, body } = asked(k).form;
      const answer = await pool.request({ path, method: 'POST', headers, body });
      check(k, new Uint8Array(await answer.body.arrayBuffer()));
    },
    close: () => pool.close(),
  };
}

function grpcJs(): Caught {
  const asking = new GrpcClient(`127.0.0.1:${port}`, credentials.createInsecure());
  const same = (bytes: Buffer): Buffer => bytes;
  return {
    call: (k) =>
      new Promise((resolve, reject) => {
        asking.makeUnaryRequest(modelInfer.path, same, same, asked(k).message, (error, answer) => {
          if (error !== null) return reject(error);
          check(k, answer!);
          resolve();
        });
      }),
    close: () => asking.close(),
  };
}

const CLIENTS: Readonly<Record<string, () => Caught>> = {
  'ours-http': () => ours('http'),
  'ours-grpc': () => ours('grpc'),
  node: bareNode,
  undici,
  'grpc-js': grpcJs,
};

const make = CLIENTS[client ?? ''];
if (make === undefined) throw new Error(`expected a client of ${Object.keys(CLIENTS).join(', ')}, got ${client}`);
const caught = make();

/** Microseconds of CPU of all threads, per call. */
async function run(seconds: number): Promise<number> {
  const until = performance.now() + seconds * 1000;
  const before = process.cpuUsage();
  let [begun, calls] = [0, 0];
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (performance.now() < until) {
        const k = begun++;
        await caught.call(k);
        calls++;
      }
    }),
  );
  const { user, system } = process.cpuUsage(before);
  return (user + system) / calls;
}

serveControl({
  ports: {},
  load: (seconds) => run(seconds as number),
  stop: async () => void (await caught.close()),
});
