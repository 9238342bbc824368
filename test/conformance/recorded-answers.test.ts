// What the real Triton answered, byte for byte, given to our client: it finds the outputs that were recorded, and errors have
// Triton's text and code.
import { describe, expect, it } from 'vitest';

import { TritonError } from 'tstriton';
import { ModelClient, type Tensor } from 'tstriton/client';

import { CODE_OF_STATUS, type GrpcStatus } from '../../src/protocol/grpc/grpc-status.js';
import { answerGrpc, failGrpc, startGrpc, startHttp } from '../support/fake-servers.js';
import { readCases, type GrpcCase, type HttpCase } from './cases.js';

/** Declares nothing, so that every output is taken as it comes. */
const ANY = { modelName: 'any', inputs: {}, outputs: {}, config: { batching: false } } as const;

type Answer = Readonly<Record<string, Tensor>>;

/** Outputs, or the code and the text of the error. */
async function outcomeOf(client: ModelClient): Promise<{ readonly outputs?: unknown; readonly error?: unknown }> {
  try {
    const outputs = (await client.inferSample({})) as Answer;
    const described = Object.entries(outputs).map(([name, { dtype, shape, data }]) => {
      // Elements of BYTES as they were sent.
      const values =
        dtype === 'bytes' ? (data as Uint8Array[]).map((each) => Buffer.from(each).toString('hex')) : hexOf(data);
      return [name, shape, values];
    });
    return { outputs: described };
  } catch (error) {
    if (!TritonError.is(error)) throw error;
    return { error: [error.code, error.message] };
  }
}

function hexOf(data: unknown): string {
  const { buffer, byteOffset, byteLength } = data as Uint8Array;
  return Buffer.from(buffer, byteOffset, byteLength).toString('hex');
}

/** The same of the bytes of a tensor on the wire. */
function valuesOf(datatype: string, bytes: Buffer): unknown {
  if (datatype !== 'BYTES') return bytes.toString('hex');
  const elements: string[] = [];
  for (let at = 0; at < bytes.length;) {
    const end = at + 4 + bytes.readUInt32LE(at);
    elements.push(bytes.toString('hex', at + 4, end));
    at = end;
  }
  return elements;
}

const CODE_OF_HTTP: Readonly<Record<number, string>> = {
  400: 'INVALID_ARG',
  404: 'NOT_FOUND',
  500: 'INTERNAL',
  501: 'UNSUPPORTED',
  503: 'UNAVAILABLE',
};

interface JsonOutput {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
  readonly parameters?: { readonly binary_data_size?: number };
}

function bodyOf({ body, body_base64 }: HttpCase['response']): Buffer {
  return body_base64 === undefined ? Buffer.from(body ?? '') : Buffer.from(body_base64, 'base64');
}

function headerOf({ headers = [] }: HttpCase['response'], name: string): string | undefined {
  return headers.find(([each]) => each.toLowerCase() === name)?.[1];
}

/** What was recorded; undefined where our client would not have asked so, for it wants all outputs in binary. */
function recordedHttp({ response }: HttpCase): Awaited<ReturnType<typeof outcomeOf>> | undefined {
  const body = bodyOf(response);
  if (response.status !== 200) {
    if (headerOf(response, 'content-type')?.includes('json') !== true) return undefined;
    const { error } = JSON.parse(body.toString()) as { readonly error?: string };
    return error === undefined || error === '' ? undefined : { error: [CODE_OF_HTTP[response.status!], error] };
  }
  const headerLength = Number(headerOf(response, 'inference-header-content-length') ?? NaN);
  if (Number.isNaN(headerLength)) return undefined;
  const { outputs } = JSON.parse(body.toString('utf8', 0, headerLength)) as { readonly outputs: readonly JsonOutput[] };
  let at = headerLength;
  const found: unknown[] = [];
  for (const { name, datatype, shape, parameters } of outputs) {
    const size = parameters?.binary_data_size;
    if (size === undefined) return undefined;
    found.push([name, shape, valuesOf(datatype, body.subarray(at, at + size))]);
    at += size;
  }
  return { outputs: found };
}

interface RecordedResponse {
  readonly outputs?: readonly {
    readonly name: string;
    readonly datatype: string;
    readonly shape?: readonly string[];
  }[];
  readonly raw_output_contents?: readonly string[];
}

function recordedGrpc({ response }: GrpcCase): Awaited<ReturnType<typeof outcomeOf>> | undefined {
  const { status_code: status, message, body } = response;
  if (status !== 0) return message === '' ? undefined : { error: [CODE_OF_STATUS[status as GrpcStatus], message] };
  // Too long to be kept apart.
  if (body === null) return undefined;
  const { outputs = [], raw_output_contents: raw = [] } = body as RecordedResponse;
  if (raw.length !== outputs.length) return undefined;
  return {
    outputs: outputs.map(({ name, datatype, shape = [] }, i) => [
      name,
      shape.map(Number),
      valuesOf(datatype, Buffer.from(raw[i]!, 'base64')),
    ]),
  };
}

describe('answers of the real Triton', () => {
  it('are understood over HTTP', async () => {
    const cases = ['http/infer-binary.jsonl', 'http/infer-json.jsonl']
      .flatMap((file) => readCases<HttpCase>(file))
      .filter(({ request, response }) => request.path.endsWith('/infer') && response.status !== undefined);
    let current: HttpCase['response'] = {};
    await using server = await startHttp((_, response) => {
      const length = headerOf(current, 'inference-header-content-length');
      const type = headerOf(current, 'content-type');
      if (type !== undefined) response.setHeader('content-type', type);
      if (length !== undefined) response.setHeader('inference-header-content-length', length);
      response.writeHead(current.status!).end(bodyOf(current));
    });
    await using client = new ModelClient(server.authority, ANY, { retry: false });
    let asked = 0;
    for (const each of cases) {
      const recorded = recordedHttp(each);
      if (recorded === undefined) continue;
      current = each.response;
      asked++;
      expect({ name: each.name, ...(await outcomeOf(client as ModelClient)) }).toEqual({
        name: each.name,
        ...recorded,
      });
    }
    expect(asked).toBeGreaterThan(700);
  });

  it('are understood over gRPC', async () => {
    const cases = readCases<GrpcCase>('grpc/infer.jsonl').filter(
      ({ method, response }) =>
        method.endsWith('/ModelInfer') && (response.status_code !== 0 || response.body_base64 !== null),
    );
    let current: GrpcCase['response'];
    await using server = await startGrpc(({ stream }) => {
      const { status_code: status, message, body_base64: body } = current;
      if (status === 0) answerGrpc(stream, Buffer.from(body as string, 'base64'));
      else failGrpc(stream, status, encodeURIComponent(message));
    });
    await using client = new ModelClient(`grpc://${server.authority}`, ANY, { retry: false });
    let asked = 0;
    for (const each of cases) {
      const recorded = recordedGrpc(each);
      if (recorded === undefined || each.response.status_name === 'DEADLINE_EXCEEDED') continue;
      current = each.response;
      asked++;
      expect({ name: each.name, ...(await outcomeOf(client as ModelClient)) }).toEqual({
        name: each.name,
        ...recorded,
      });
    }
    expect(asked).toBeGreaterThan(400);
  });
});
