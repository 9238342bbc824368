// A question as HTTP has it, and the answer to it, made and read here by hand: no code of the client's is trusted with that.
import { bytesElements, type WireTensor } from '../http-infer.js';
import { HEADER, valuesOf, type Question, type QuestionTensor } from './question.js';
import type { ReceivedAnswer } from './way.js';

const DATATYPES = { uint8: 'UINT8', int32: 'INT32', string: 'BYTES' } as const;

export interface HttpMessage {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

export function rawBytes({ data }: QuestionTensor): Buffer {
  return ArrayBuffer.isView(data) ? Buffer.from(data.buffer, data.byteOffset, data.byteLength) : bytesElements(...data);
}

export function datatypeOf({ dtype }: QuestionTensor): string {
  return DATATYPES[dtype];
}

/** With tensors behind the JSON. */
export function binaryMessage(question: Question): HttpMessage {
  const blobs = question.tensors.map(rawBytes);
  const inputs = question.tensors.map((tensor, i) => ({
    name: tensor.name,
    datatype: datatypeOf(tensor),
    shape: tensor.shape,
    parameters: { binary_data_size: blobs[i]!.length },
  }));
  const parameters = { ...question.parameters, binary_data_output: true };
  const json = Buffer.from(JSON.stringify({ id: question.id, parameters, inputs }));
  return {
    path: `/v2/models/${question.model}/infer`,
    headers: { [HEADER]: question.header, 'inference-header-content-length': String(json.length) },
    body: Buffer.concat([json, ...blobs]),
  };
}

export function jsonMessage(question: Question): HttpMessage {
  const inputs = question.tensors.map((tensor) => ({
    name: tensor.name,
    datatype: datatypeOf(tensor),
    shape: tensor.shape,
    data: valuesOf(tensor),
  }));
  return {
    path: `/v2/models/${question.model}/infer`,
    headers: { [HEADER]: question.header },
    body: Buffer.from(JSON.stringify({ id: question.id, parameters: question.parameters, inputs })),
  };
}

/** What the server answered, as one who knows nothing of our client reads it. */
export function readAnswer(status: number, jsonLength: string | undefined, body: Buffer): ReceivedAnswer {
  const end = jsonLength === undefined ? body.length : Number(jsonLength);
  const text = body.toString('utf8', 0, end);
  if (status !== 200) throw new Error(`status ${status}: ${text.slice(0, 300)}`);
  const { id, outputs } = JSON.parse(text) as { readonly id?: string; readonly outputs: readonly WireTensor[] };
  let at = end;
  const values = new Map(
    outputs.map(({ name, datatype, data, parameters }) => {
      const size = parameters?.['binary_data_size'];
      if (size === undefined) return [name, datatype === 'BYTES' ? data : bytesOfNumbers(datatype, data as number[])];
      const bytes = body.subarray(at, (at += size as number));
      return [name, datatype === 'BYTES' ? textsOf(bytes) : bytes];
    }),
  );
  if (at !== body.length) throw new Error(`the answer has ${body.length} bytes, and its tensors end at ${at}`);
  return { id: id ?? '', y: values.get('y') as Uint8Array, said: values.get('said') as readonly string[] };
}

function bytesOfNumbers(datatype: string, numbers: readonly number[]): Uint8Array {
  if (datatype === 'UINT8') return Uint8Array.from(numbers);
  return new Uint8Array(Int32Array.from(numbers).buffer);
}

/** The elements of a tensor of BYTES. */
export function textsOf(bytes: Buffer): string[] {
  const texts: string[] = [];
  for (let at = 0; at < bytes.length;) {
    const end = at + 4 + bytes.readUInt32LE(at);
    texts.push(bytes.toString('utf8', at + 4, end));
    at = end;
  }
  return texts;
}
