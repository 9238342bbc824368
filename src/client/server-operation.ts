// One question to a server that is no inference, in both protocols: the gRPC method with its messages, and the REST endpoint whose
// JSON is read as the same message.

import {
  create,
  fromBinary,
  fromJson,
  toBinary,
  type DescMessage,
  type JsonValue,
  type MessageInitShape,
  type MessageShape,
} from '@bufbuild/protobuf';

import { TritonError } from '../errors.js';
import { frameMessage } from '../protocol/grpc/message-frame.js';

/** How to ask it, and how to read what is answered: throws INTERNAL when that is no such answer. */
export interface ServerOperation<Answer> {
  readonly grpc: { readonly method: string; readonly frame: Uint8Array; readonly read: (bytes: Uint8Array) => Answer };
  readonly http: {
    readonly method: 'GET' | 'POST';
    readonly path: string;
    readonly body: Uint8Array | undefined;
    readonly read: (body: Buffer) => Answer;
    /** Statuses that are the answer no. */
    readonly no: readonly number[];
  };
  /** The answer no: nothing in it is set. */
  readonly none: () => Answer;
}

export interface HttpQuestion {
  readonly method: 'GET' | 'POST';
  /** Below /v2. */
  readonly path: string;
  /** As JSON. */
  readonly body?: unknown;
  /** What the endpoint answers as the message's JSON. */
  readonly read?: (json: JsonValue) => JsonValue;
  readonly no?: readonly number[];
}

export interface GrpcQuestion<Request extends DescMessage> {
  readonly method: string;
  readonly request: Request;
  readonly message?: MessageInitShape<Request>;
}

export function serverOperation<Request extends DescMessage, Response extends DescMessage>(
  response: Response,
  { method, request, message }: GrpcQuestion<Request>,
  http: HttpQuestion,
): ServerOperation<MessageShape<Response>> {
  return {
    grpc: {
      method,
      frame: frameMessage(toBinary(request, create(request, message))),
      read: (bytes) => reading(() => fromBinary(response, bytes)),
    },
    http: {
      method: http.method,
      path: `/v2${http.path}`,
      body: http.body === undefined ? undefined : Buffer.from(JSON.stringify(http.body)),
      read: (body) => reading(() => fromHttp(response, body, http.read)),
      no: http.no ?? [],
    },
    none: () => create(response),
  };
}

/** Servers may say more than we know of, and some endpoints answer nothing. */
function fromHttp<S extends DescMessage>(
  schema: S,
  body: Buffer,
  read: (json: JsonValue) => JsonValue = (json) => json,
): MessageShape<S> {
  const json = (body.length === 0 ? {} : JSON.parse(body.toString())) as JsonValue;
  return fromJson(schema, read(json), { ignoreUnknownFields: true });
}

function reading<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    const { message } = TritonError.from(error);
    throw new TritonError('INTERNAL', `malformed response of the server: ${message}`, { cause: error });
  }
}
