// Inference over HTTP as tests of the wire want it: JSON, or JSON and binary tensors, sent and read by hand.
import { expect } from 'vitest';

export interface WireTensor {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
  readonly data?: readonly unknown[];
  readonly parameters?: Readonly<Record<string, unknown>>;
}

export interface InferAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly json: { readonly outputs: readonly WireTensor[]; readonly error?: string; readonly id?: string };
  /** What follows the JSON. */
  readonly binary: Buffer;
  readonly text: string;
}

/** Sends a body to a model's infer endpoint, or to another one of it. */
export async function post(
  http: string,
  model: string,
  body: string | Uint8Array | ReadableStream<Uint8Array>,
  { headers = {}, action = 'infer' }: { readonly headers?: Record<string, string>; readonly action?: string } = {},
): Promise<InferAnswer> {
  const response = await fetch(`${http}/v2/models/${model}/${action}`, {
    method: 'POST',
    body: body as Uint8Array<ArrayBuffer>,
    headers,
    ...(body instanceof ReadableStream ? { duplex: 'half' } : {}),
  } as RequestInit);
  const bytes = Buffer.from(await response.arrayBuffer());
  const length = Number(response.headers.get('inference-header-content-length') ?? bytes.length);
  const text = bytes.toString('utf8', 0, length);
  return {
    status: response.status,
    headers: response.headers,
    json: text.startsWith('{') ? parse(text) : { outputs: [] },
    binary: bytes.subarray(length),
    text,
  };
}

// Triton's answers may hold NaN and infinities, which are no JSON: those tests look at the text.
function parse(text: string): InferAnswer['json'] {
  try {
    return JSON.parse(text) as InferAnswer['json'];
  } catch {
    return { outputs: [] };
  }
}

/** A body with binary inputs behind the JSON, and the header that says where they begin. */
export function binaryBody(
  inputs: readonly (Omit<WireTensor, 'data' | 'parameters'> & { readonly bytes: Uint8Array })[],
  more: Readonly<Record<string, unknown>> = {},
): { readonly body: Buffer; readonly headers: Record<string, string> } {
  const described = inputs.map(({ name, datatype, shape, bytes }) => ({
    name,
    datatype,
    shape,
    parameters: { binary_data_size: bytes.byteLength },
  }));
  const json = Buffer.from(JSON.stringify({ inputs: described, ...more }));
  return {
    body: Buffer.concat([json, ...inputs.map(({ bytes }) => bytes)]),
    headers: { 'inference-header-content-length': String(json.length) },
  };
}

/** The wire bytes of BYTES elements. */
export function bytesElements(...elements: readonly (string | Uint8Array)[]): Buffer {
  return Buffer.concat(
    elements.flatMap((element) => {
      const bytes = Buffer.from(element as Uint8Array);
      const length = Buffer.alloc(4);
      length.writeUInt32LE(bytes.length);
      return [length, bytes];
    }),
  );
}

/** The server answers health checks: nothing before has hurt it. */
export async function expectAlive(http: string): Promise<void> {
  expect((await fetch(`${http}/v2/health/ready`)).status).toBe(200);
}
