// PyTriton's recorded errors and life cycle as values.

import type { RecordedTensors } from './pytriton-cases.js';

export interface RecordedRefusal {
  readonly type: string;
  readonly message: string;
}

/** What came over a stream of a decoupled model. */
export type StreamedAnswer =
  | { readonly error: string }
  | {
      readonly outputs: RecordedTensors;
      readonly final: boolean;
    };

interface HttpOutcome {
  readonly status?: number;
  /** Of answers on the way the text. */
  readonly body?: string | { readonly error?: string | { readonly length: number; readonly ends: string } };
  readonly seconds?: number;
  readonly no_answer?: object;
}

/** A line of `cases/pytriton/errors.jsonl`. */
export interface ErrorCase {
  readonly name: string;
  readonly http?: HttpOutcome | readonly HttpOutcome[];
  readonly grpc?: { readonly status: string; readonly message?: string; readonly outputs?: RecordedTensors };
  readonly grpc_stream?: readonly StreamedAnswer[];
  readonly next_request_status?: number;
  readonly how?: string;
  readonly exit_code?: number;
}

/** A line of `cases/pytriton/lifecycle.jsonl`; the name says which of the members there are. */
export interface LifecycleCase {
  readonly name: string;
  readonly result?: unknown;
  readonly error?: RecordedRefusal;
  readonly observed?: string;
  readonly how?: string;
  readonly signal?: NodeJS.Signals;
  readonly requests_in_flight?: number;
  readonly in_flight?: readonly HttpOutcome[];
  readonly exit_code?: number | string;
  readonly variable?: string;
  readonly variables?: string;
  readonly value?: string;
  readonly args?: { readonly access_token?: string; readonly restricted_endpoints?: readonly string[] };
  readonly model_name?: unknown;
  readonly callable?: string;
  readonly method?: string;
  readonly path?: string;
  readonly without_token?: number | string | readonly [number, string];
  readonly wrong_token?: number | string;
  readonly bare_header?: string;
  readonly with_token?: number | string;
  readonly header_in_capitals?: number;
  readonly which?: string;
  readonly command?: string;
  readonly v1?: readonly [number, string];
  readonly v2?: readonly [number, string];
  readonly latest?: readonly [number, string];
}

/** A name that no other line has: `bind-name ".."`. */
export function labelOf(testCase: LifecycleCase): string {
  const { name, variable, value, args, callable, which, command, method, path, how } = testCase;
  const inFlight = testCase.requests_in_flight === undefined ? undefined : `${testCase.requests_in_flight} in flight`;
  const set = variable === undefined ? undefined : `${variable.slice('PYTRITON_TRITON_CONFIG_'.length)}=${value}`;
  const bound = 'model_name' in testCase ? JSON.stringify(testCase.model_name) : undefined;
  const given = args === undefined ? undefined : JSON.stringify(args);
  const timeline = name === 'sigterm-timeline' ? how : undefined;
  return [name, set, bound, given, callable, which, command, method, path, timeline, inFlight]
    .filter((part) => part !== undefined)
    .join(' ');
}

/** An answer to an inference: `200 of 1: 1`, which is version and data, or its error. */
export function inferText(status: number, body: string): string {
  if (status !== 200) return errorText(status, body);
  const { model_version: version, outputs } = JSON.parse(body) as {
    readonly model_version: string;
    readonly outputs: readonly [{ readonly data: readonly number[] }];
  };
  return `${status} of ${version}: ${outputs[0].data.join()}`;
}

/** An answer of an endpoint that may be restricted: what it says where it is, is compared elsewhere. */
export function restrictedText(status: number, body: string): string {
  return status === 403 ? errorText(status, body) : String(status);
}

function errorText(status: number, body: string): string {
  return `${status} ${(JSON.parse(body) as { readonly error: string }).error}`;
}
