// What the request of the form is made of, for code in any language.

import type { DeclaredJson, DeclaredTensorJson } from '../src/frontend/page/page-json.js';
import type { Parameter } from './infer.js';

/** An input as it is sent. */
export interface SnippetInput {
  readonly spec: DeclaredTensorJson;
  /** Without the batch axis. */
  readonly shape: readonly number[];
  /** Elements as JSON spells them; undefined for those of a file, and for too many to write down. */
  readonly literals: readonly string[] | undefined;
  /** The name of the file that is the only element. */
  readonly file?: string;
}

export interface Call {
  /** `http://localhost:8000`. */
  readonly origin: string;
  /** `localhost:8001`; undefined where gRPC is off. */
  readonly grpc: string | undefined;
  readonly model: string;
  /** Undefined for the latest. */
  readonly version: string | undefined;
  readonly declared: DeclaredJson;
  readonly inputs: readonly SnippetInput[];
  readonly parameters: Readonly<Record<string, Parameter>>;
  /** The header that the server asks for; its value is left to a variable. */
  readonly tokenHeader: string | undefined;
}

/** The variable of the environment that code takes the token from. */
export const TOKEN = 'TRITON_ACCESS_TOKEN';

/** Values as nested lists. */
export function nested(values: readonly string[], shape: readonly number[], [open, close] = ['[', ']']): string {
  const [length, ...inner] = shape;
  if (length === undefined) return values[0] ?? '';
  const size = inner.reduce((product, one) => product * one, 1);
  const rows = Array.from({ length }, (_, row) => nested(values.slice(row * size, (row + 1) * size), inner));
  return `${open}${rows.join(', ')}${close}`;
}

/** Text that JSON, JavaScript and Python read alike. */
export function literal(text: string): string {
  return JSON.stringify(text);
}

/** The shape as the protocol has it, with the batch axis. */
export function withBatch({ declared }: Call, shape: readonly number[]): readonly number[] {
  return declared.maxBatchSize > 0 ? [1, ...shape] : shape;
}
