// One request through clients that are not ours, node:http and @grpc/grpc-js. Before anything is measured they establish
// that a server answers correctly; the answer's bytes are then what the load generator compares with.

import { Client, credentials } from '@grpc/grpc-js';
import type { MethodDefinition } from '@grpc/grpc-js';
import { request as httpRequest } from 'node:http';
import type { IncomingHttpHeaders } from 'node:http';

import type { HttpForm } from './tensor-wire.js';

const same = (message: Buffer): Buffer => message;

/** ModelInfer without codecs: the messages are their bytes. */
export const modelInfer: MethodDefinition<Buffer, Buffer> = {
  path: '/inference.GRPCInferenceService/ModelInfer',
  requestStream: false,
  responseStream: false,
  requestSerialize: same,
  requestDeserialize: same,
  responseSerialize: same,
  responseDeserialize: same,
};

export interface HttpAnswer {
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

export function askHttp(port: number, path: string, form: HttpForm): Promise<HttpAnswer> {
  const headers = { ...form.headers, 'content-length': form.body.length, connection: 'close' };
  return new Promise((resolve, reject) => {
    const request = httpRequest({ host: '127.0.0.1', port, path, method: 'POST', headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('error', reject);
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => {
        const body = Buffer.concat(chunks);
        if (response.statusCode === 200) resolve({ headers: response.headers, body });
        else reject(new Error(`${path} answered ${response.statusCode}: ${body.toString()}`));
      });
    });
    request.on('error', reject);
    request.end(form.body);
  });
}

export function askGrpc(port: number, message: Buffer): Promise<Buffer> {
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure(), {
    'grpc.max_receive_message_length': -1,
  });
  const answer = new Promise<Buffer>((resolve, reject) => {
    const deadline = Date.now() + 10_000;
    client.makeUnaryRequest(modelInfer.path, same, same, message, { deadline }, (error, value) => {
      if (error) reject(error);
      else resolve(value ?? Buffer.alloc(0));
    });
  });
  return answer.finally(() => client.close());
}
