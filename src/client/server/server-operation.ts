// One question to a server other than an inference, in both protocols. Over gRPC it is a method with its messages. Over REST it is
// an endpoint whose JSON is read as the same message.

import { TritonError } from '../../errors.js';
import type { InputOf, OutputOf, UnaryName } from '../../protocol/grpc/service-methods.js';
import { type JsonValue, messageFromJson } from '../../protocol/protobuf/message-json.js';
import type { MessageType } from '../../protocol/protobuf/message-type.js';
import { emptyMessage, type Init } from '../../protocol/protobuf/values.js';

/** How to ask over gRPC. */
export interface GrpcQuestion<Name extends UnaryName> {
  readonly method: Name;
  /** Default: the empty message. */
  readonly message?: Init<InputOf<Name>>;
}

export interface HttpQuestion {
  readonly method: 'GET' | 'POST';
  /** Below /v2. */
  readonly path: string;
  /** As JSON. */
  readonly body?: unknown;
  /** Turns the endpoint's answer into the message's JSON. */
  readonly read?: (json: JsonValue) => JsonValue;
  /** The statuses that mean "no". */
  readonly no?: readonly number[];
}

/** How to ask in both protocols, and how to read the answer. */
export interface ServerOperation<Answer extends object> {
  readonly grpc: {
    readonly method: UnaryName;
    readonly message: object;
    readonly response: MessageType<Answer>;
  };
  readonly http: {
    readonly method: 'GET' | 'POST';
    readonly path: string;
    readonly body: Uint8Array | undefined;
    /** Throws INTERNAL if the body is not such an answer. */
    readonly read: (body: Buffer) => Answer;
    readonly no: readonly number[];
  };
  /** The answer "no": nothing in it is set. */
  readonly none: () => Answer;
}

export function serverOperation<Name extends UnaryName>(
  response: MessageType<OutputOf<Name>>,
  { method, message }: GrpcQuestion<Name>,
  http: HttpQuestion,
): ServerOperation<OutputOf<Name>> {
  return {
    grpc: { method, message: message ?? {}, response },
    http: {
      method: http.method,
      path: `/v2${http.path}`,
      body: http.body === undefined ? undefined : Buffer.from(JSON.stringify(http.body)),
      read: (body) => fromHttp(response, body, http.read),
      no: http.no ?? [],
    },
    none: () => emptyMessage(response),
  };
}

/** Servers may send members that we do not know, and some endpoints send an empty body. */
function fromHttp<T extends object>(
  type: MessageType<T>,
  body: Buffer,
  read: (json: JsonValue) => JsonValue = (json) => json,
): T {
  try {
    const json = (body.length === 0 ? {} : JSON.parse(body.toString())) as JsonValue;
    return messageFromJson(type, read(json), { ignoreUnknown: true });
  } catch (error) {
    const { message } = TritonError.from(error);
    throw new TritonError('INTERNAL', `malformed response of the server: ${message}`, { cause: error });
  }
}
