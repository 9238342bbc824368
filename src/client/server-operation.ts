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

export interface ServerOperation<Response extends DescMessage> {
  readonly response: Response;
  readonly grpc: { readonly method: string; readonly frame: Uint8Array };
  readonly http: {
    readonly method: 'GET' | 'POST';
    readonly path: string;
    readonly body: Uint8Array | undefined;
    /** What the endpoint answers as the message's JSON. */
    readonly read: (json: JsonValue) => JsonValue;
    /** Statuses that are the answer no: of the message nothing is set then. */
    readonly no: readonly number[];
  };
}

export interface HttpQuestion {
  readonly method: 'GET' | 'POST';
  /** Below /v2. */
  readonly path: string;
  /** As JSON. */
  readonly body?: unknown;
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
): ServerOperation<Response> {
  return {
    response,
    grpc: { method, frame: frameMessage(toBinary(request, create(request, message))) },
    http: {
      method: http.method,
      path: `/v2${http.path}`,
      body: http.body === undefined ? undefined : Buffer.from(JSON.stringify(http.body)),
      read: http.read ?? ((json) => json),
      no: http.no ?? [],
    },
  };
}

/** Throws INTERNAL when the bytes are no such message. */
export function readGrpcAnswer<S extends DescMessage>(
  operation: ServerOperation<S>,
  bytes: Uint8Array,
): MessageShape<S> {
  return reading(() => fromBinary(operation.response, bytes));
}

/** Throws INTERNAL when the body is no such answer. Servers may say more than we know of. */
export function readHttpAnswer<S extends DescMessage>(operation: ServerOperation<S>, body: Buffer): MessageShape<S> {
  return reading(() => {
    // Some endpoints answer nothing.
    const json = (body.length === 0 ? {} : JSON.parse(body.toString())) as JsonValue;
    return fromJson(operation.response, operation.http.read(json), { ignoreUnknownFields: true });
  });
}

function reading<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    const { message } = TritonError.from(error);
    throw new TritonError('INTERNAL', `malformed response of the server: ${message}`, { cause: error });
  }
}
