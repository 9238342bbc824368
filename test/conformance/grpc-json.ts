// Small tools for rules about gRPC answers: refusals, changed responses, and the parts of requests that rules look at.
import type { GrpcCase } from './cases.js';
import type { GrpcAnswer, Json } from './replay-grpc.js';

export const STATUS = {
  OK: 0,
  INVALID_ARGUMENT: 3,
  NOT_FOUND: 5,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
} as const;

export type JsonObject = { readonly [key: string]: Json };

export function refusal(code: number, message: string): GrpcAnswer {
  return { code, message, metadata: [], json: null, bytes: undefined };
}

export function success(json: Json): GrpcAnswer {
  return { code: STATUS.OK, message: '', metadata: [], json, bytes: undefined };
}

/** The answer with its response changed; its bytes are not compared then. */
export function withJson(answer: GrpcAnswer, change: (json: JsonObject) => JsonObject): GrpcAnswer {
  if (answer.json === null) return answer;
  const changed = change(answer.json as JsonObject);
  return JSON.stringify(changed) === JSON.stringify(answer.json)
    ? answer
    : { ...answer, json: changed, bytes: undefined };
}

export function withMessage(answer: GrpcAnswer, change: (message: string) => string): GrpcAnswer {
  return answer.message === '' ? answer : { ...answer, message: change(answer.message) };
}

export interface InferRequest {
  readonly id?: string;
  readonly model_name?: string;
  readonly model_version?: string;
  readonly inputs?: readonly {
    readonly name: string;
    readonly datatype: string;
    readonly shape?: readonly string[];
    readonly parameters?: JsonObject;
    readonly contents?: { readonly int_contents?: readonly number[]; readonly uint_contents?: readonly number[] };
  }[];
  readonly outputs?: readonly { readonly name: string; readonly parameters?: JsonObject }[];
  readonly raw_input_contents?: readonly string[];
}

/** The request of an inference; undefined for other methods and for what was no message. */
export function inferRequest({ method, request }: GrpcCase): InferRequest | undefined {
  return method.endsWith('/ModelInfer') && request !== null ? (request as InferRequest) : undefined;
}

/** The method's name without its service. */
export function methodName({ method }: GrpcCase): string {
  return method.slice(method.lastIndexOf('/') + 1);
}

/** The name and version that any request asks about. */
export function asksFor({ request }: GrpcCase): { readonly name: string | undefined; readonly version: string } {
  const {
    name,
    model_name: model,
    version,
    model_version: modelVersion,
  } = (request ?? {}) as Readonly<Record<string, string | undefined>>;
  return { name: model ?? name, version: modelVersion ?? version ?? '' };
}
