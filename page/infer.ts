// The messages of `infer` with binary tensors, and the events of `generate_stream`.

import { decodeElements, type Value } from './elements.js';

export type Parameter = string | number | boolean;

export interface SentTensor {
  readonly name: string;
  readonly datatype: string;
  /** With the batch axis. */
  readonly shape: readonly number[];
  readonly bytes: Uint8Array<ArrayBuffer>;
}

export interface GotTensor {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
  readonly values: readonly Value[];
}

export interface Answer {
  readonly version: string;
  readonly outputs: readonly GotTensor[];
  readonly parameters: Readonly<Record<string, unknown>>;
}

export function encodeInfer(inputs: readonly SentTensor[], parameters: Readonly<Record<string, Parameter>>) {
  const json = JSON.stringify({
    inputs: inputs.map(({ name, datatype, shape, bytes }) => ({
      name,
      datatype,
      shape,
      parameters: { binary_data_size: bytes.length },
    })),
    parameters: { ...parameters, binary_data_output: true },
  });
  const header = new TextEncoder().encode(json);
  return { headerLength: header.length, body: new Blob([header, ...inputs.map(({ bytes }) => bytes)]) };
}

interface AnswerJson {
  readonly model_version?: string;
  readonly parameters?: Readonly<Record<string, unknown>>;
  readonly outputs?: readonly {
    readonly name: string;
    readonly datatype: string;
    readonly shape: readonly number[];
    readonly parameters?: { readonly binary_data_size?: number };
    readonly data?: readonly Value[];
  }[];
}

/** `headerLength`: undefined for an answer of JSON alone. */
export function decodeInfer(body: Uint8Array, headerLength: number | undefined): Answer {
  let at = headerLength ?? body.length;
  const json = JSON.parse(new TextDecoder().decode(body.subarray(0, at))) as AnswerJson;
  const outputs = (json.outputs ?? []).map(({ name, datatype, shape, parameters, data }): GotTensor => {
    const size = parameters?.binary_data_size;
    if (size === undefined) return { name, datatype, shape, values: data ?? [] };
    const values = decodeElements(body.subarray(at, at + size), datatype);
    at += size;
    return { name, datatype, shape, values };
  });
  return { version: json.model_version ?? '', outputs, parameters: json.parameters ?? {} };
}

/** One event of a stream: the outputs by their names as plain values, or an error. */
export type StreamEvent = Readonly<Record<string, unknown>>;

/** Takes the pieces of a stream of server-sent events apart, wherever they were cut. */
export class EventReader {
  #rest = '';
  readonly #decoder = new TextDecoder();

  read(piece: Uint8Array): StreamEvent[] {
    const lines = (this.#rest + this.#decoder.decode(piece, { stream: true })).split('\n');
    this.#rest = lines.pop()!;
    return lines.flatMap((line) => (line.startsWith('data:') ? [parseExact(line.slice(5)) as StreamEvent] : []));
  }
}

/** JSON whose integers of 64 bits are exact, where the browser can tell how they were written. */
export function parseExact(text: string): unknown {
  // A look at each number takes ten times as long.
  if (!/(?<![.\d])\d{16}/.test(text)) return JSON.parse(text);
  return JSON.parse(text, (_, value: unknown, context?: { readonly source?: string }) => {
    const source = context?.source;
    if (typeof value !== 'number' || Number.isSafeInteger(value) || source === undefined) return value;
    return /^-?\d+$/.test(source) ? BigInt(source) : value;
  });
}
