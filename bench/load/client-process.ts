// A client in a process of its own: an order has it ask a server for so long, so many calls at a time, and is answered with the CPU
// time of a call. Each answer is looked at: the values that were sent must be in it.
// Usage: client-process.js <client> <port> <small|large>

import { Client as GrpcClient, credentials } from '@grpc/grpc-js';
import { Agent, request as httpRequest } from 'node:http';
import { Pool } from 'undici';

import { ModelClient } from 'tstriton/client';

import { serveControl } from '../control-channel.js';
import * as identity from '../identity-wire.js';
import type { HttpForm } from '../identity-wire.js';
import * as large from '../large-wire.js';
import { modelInfer } from '../real-clients.js';

/** Both are as many as fit on one core beside the server. */
const AT_ONCE = { small: 16, large: 2 } as const;
const LARGE_BYTES = 1 << 20;

const [client, portText, size] = process.argv.slice(2);
const port = Number(portText);
if (size !== 'small' && size !== 'large') throw new Error(`expected small or large, got ${size}`);
const atOnce = AT_ONCE[size];

/** Calls once; checks that the answer has the bytes that it must end with. */
type Caller = () => Promise<void>;

interface Caught {
  readonly call: Caller;
  close(): unknown;
}

const values = large.valuesOf(LARGE_BYTES);
const lastBytes =
  size === 'small'
    ? Buffer.from(identity.VALUES[1].buffer, identity.VALUES[1].byteOffset, identity.VALUES[1].byteLength)
    : values.subarray(-64);

function check(bytes: Uint8Array): void {
  if (Buffer.compare(lastBytes, bytes.subarray(bytes.byteLength - lastBytes.length)) !== 0)
    throw new Error(`wrong answer to ${client}: other values`);
}

const model = size === 'small' ? identity.MODEL : large.ECHO;
const path = `/v2/models/${model}/infer`;
const form = (): HttpForm => (size === 'small' ? identity.binaryRequest : large.httpRequest(values));

function ours(scheme: 'http' | 'grpc'): Caught {
  const tensor = { dtype: 'float32', shape: [-1] } as const;
  const one = new Float32Array(values.buffer, values.byteOffset, values.length / 4);
  const [inputs, outputs, given, last, config] =
    size === 'small'
      ? [{ a: tensor, b: tensor }, { c: tensor, d: tensor }, identity.VALUES, 'd', { maxBatchSize: 64 }]
      : [{ x: tensor }, { y: tensor }, [one], 'y', { batching: false }];
  const asked = new ModelClient(`${scheme}://127.0.0.1:${port}`, { modelName: model, inputs, outputs, config });
  const named = Object.fromEntries(Object.keys(inputs).map((name, i) => [name, given[i]]));
  return {
    call: async () => {
      const answer = (await asked.inferSample(named as never)) as Record<string, { readonly data: Float32Array }>;
      const { buffer, byteOffset, byteLength } = answer[last as string]!.data;
      check(new Uint8Array(buffer, byteOffset, byteLength));
    },
    close: () => asked.close(),
  };
}

function bareNode(): Caught {
  const agent = new Agent({ keepAlive: true });
  const { headers, body } = form();
  const sent = { ...headers, 'content-length': body.length };
  return {
    call: () =>
      new Promise((resolve, reject) => {
        const request = httpRequest(
          { host: '127.0.0.1', port, path, method: 'POST', headers: sent, agent },
          (response) => {
            const chunks: Buffer[] = [];
            response.on('data', (chunk: Buffer) => chunks.push(chunk));
            response.on('error', reject);
            response.on('end', () => {
              check(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks));
              resolve();
            });
          },
        );
        request.on('error', reject);
        request.end(body);
      }),
    close: () => agent.destroy(),
  };
}

function undici(): Caught {
  const pool = new Pool(`http://127.0.0.1:${port}`, { connections: atOnce });
  const { headers, body } = form();
  return {
    call: async () => {
      const answer = await pool.request({ path, method: 'POST', headers, body });
      check(new Uint8Array(await answer.body.arrayBuffer()));
    },
    close: () => pool.close(),
  };
}

function grpcJs(): Caught {
  const asked = new GrpcClient(`127.0.0.1:${port}`, credentials.createInsecure());
  const message = size === 'small' ? identity.grpcRequest : large.grpcRequest(model, values);
  const same = (bytes: Buffer): Buffer => bytes;
  return {
    call: () =>
      new Promise((resolve, reject) => {
        asked.makeUnaryRequest(modelInfer.path, same, same, message, (error, answer) => {
          if (error !== null) return reject(error);
          check(answer!);
          resolve();
        });
      }),
    close: () => asked.close(),
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
const { call, close } = make();

/** Microseconds of CPU of all threads, per call. */
async function run(seconds: number): Promise<number> {
  const until = performance.now() + seconds * 1000;
  const before = process.cpuUsage();
  let calls = 0;
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (performance.now() < until) {
        await call();
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
  stop: async () => void (await close()),
});
