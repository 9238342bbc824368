// The recorded cases as values: what was sent to the real servers and what they answered.
import { readFileSync } from 'node:fs';

export function readCases<T>(file: string): T[] {
  const text = readFileSync(new URL(`./cases/${file}`, import.meta.url), 'utf8');
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as T);
}

/** A line of `cases/http`. */
export interface HttpCase {
  readonly name: string;
  readonly model: string | null;
  /** Which recorded server answered; absent for the main one. */
  readonly server?: 'plain' | 'full';
  readonly request: {
    readonly method: string;
    readonly path: string;
    readonly headers: readonly (readonly [string, string])[];
    readonly body?: string;
    readonly body_base64?: string;
  };
  readonly response: {
    readonly status?: number;
    readonly reason?: string;
    readonly headers?: readonly (readonly [string, string])[];
    readonly body?: string;
    readonly body_base64?: string;
    readonly closed?: true;
    readonly timeout?: true;
  };
  /** Regular expressions over parts of the body that two recordings did not share. */
  readonly varies?: readonly string[];
}

/** A line of `cases/grpc`. */
export interface GrpcCase {
  readonly name: string;
  readonly method: string;
  readonly metadata: readonly (readonly [string, string])[];
  readonly request_base64: string | null;
  readonly request: unknown;
  /** In words, where the request is too long to keep. */
  readonly request_rule?: string;
  readonly request_bytes?: number;
  readonly response: {
    readonly status_code: number;
    readonly status_name: string;
    readonly message: string;
    readonly body_base64: string | null;
    readonly body: unknown;
    readonly body_bytes?: number;
  };
  readonly note: string;
  /** Members that two recordings did not share. */
  readonly varies: readonly string[];
}

export interface BoundTensor {
  readonly name?: string;
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly optional?: boolean;
}

/** A line of `cases/pytriton/model-config.jsonl`. */
export interface BindCase {
  readonly bind: {
    readonly model_name: string;
    readonly model_version?: number;
    readonly strict?: boolean;
    readonly callables?: number;
    readonly inputs: readonly BoundTensor[];
    readonly outputs: readonly BoundTensor[];
    readonly config?: Readonly<Record<string, unknown>>;
  };
  readonly config_status: number;
  readonly config: Readonly<Record<string, unknown>>;
  readonly metadata_status: number;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly error?: { readonly raised_by: string; readonly type: string; readonly message: string };
}
