// What server reflection answers, from the descriptors that the messages themselves are made of. Versions v1 and
// v1alpha of it differ in name only: one reader and one writer serve both.

import { create, toBinary, type DescFile, type DescMessage, type MessageInitShape } from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';

import { decodeMessage } from './decode-message.js';
import { GRPC_STATUS } from './grpc-status.js';
import {
  ServerReflectionRequestSchema,
  ServerReflectionResponseSchema,
  type ServerReflectionRequest,
} from './generated/reflection_v1_pb.js';

type Answer = Exclude<MessageInitShape<typeof ServerReflectionResponseSchema>['messageResponse'], undefined>;

export class Reflection {
  readonly #services: readonly string[];
  readonly #files = new Map<string, DescFile>();
  /** Files by the full names of what they declare. */
  readonly #symbols = new Map<string, DescFile>();
  readonly #messages = new Map<string, DescMessage>();
  /** Serialized, by name, as they are asked for. */
  readonly #serialized = new Map<string, Uint8Array>();

  /** `files` are those with the services that are served. */
  constructor(files: readonly DescFile[]) {
    for (const file of files) this.#addFile(file);
    this.#services = files.flatMap(({ services }) => services.map(({ typeName }) => typeName)).sort();
  }

  /** Answers one serialized request with a serialized response. Throws INTERNAL when the request is none, and what {@link decodeMessage} throws. */
  answer(bytes: Uint8Array): Uint8Array {
    const request = decodeMessage(ServerReflectionRequestSchema, bytes);
    const response = create(ServerReflectionResponseSchema, {
      validHost: request.host,
      originalRequest: request,
      messageResponse: this.#answer(request.messageRequest),
    });
    return toBinary(ServerReflectionResponseSchema, response);
  }

  #answer({ case: kind, value }: ServerReflectionRequest['messageRequest']): Answer {
    switch (kind) {
      case 'listServices':
        return { case: 'listServicesResponse', value: { service: this.#services.map((name) => ({ name })) } };
      case 'fileByFilename':
        return this.#file(this.#files.get(value), `file '${value}'`);
      case 'fileContainingSymbol':
        return this.#file(this.#symbols.get(value), `symbol '${value}'`);
      case 'fileContainingExtension':
        return notFound(`extension ${value.extensionNumber} of '${value.containingType}'`);
      case 'allExtensionNumbersOfType':
        return this.#messages.has(value)
          ? { case: 'allExtensionNumbersResponse', value: { baseTypeName: value, extensionNumber: [] } }
          : notFound(`message '${value}'`);
      default:
        return {
          case: 'errorResponse',
          value: { errorCode: GRPC_STATUS.INVALID_ARGUMENT, errorMessage: 'the request asks for nothing' },
        };
    }
  }

  #file(file: DescFile | undefined, what: string): Answer {
    if (file === undefined) return notFound(what);
    // The file first, then what it imports.
    const files = new Set([file]);
    for (const each of files) for (const dependency of each.dependencies) files.add(dependency);
    return {
      case: 'fileDescriptorResponse',
      value: { fileDescriptorProto: [...files].map((each) => this.#serialize(each)) },
    };
  }

  #serialize(file: DescFile): Uint8Array {
    let bytes = this.#serialized.get(file.name);
    if (bytes === undefined) this.#serialized.set(file.name, (bytes = toBinary(FileDescriptorProtoSchema, file.proto)));
    return bytes;
  }

  #addFile(file: DescFile): void {
    if (this.#files.has(file.proto.name)) return;
    this.#files.set(file.proto.name, file);
    for (const service of file.services) {
      this.#symbols.set(service.typeName, file);
      for (const method of service.methods) this.#symbols.set(`${service.typeName}.${method.name}`, file);
    }
    for (const message of file.messages) this.#addMessage(message, file);
    for (const { typeName, values } of file.enums) this.#addEnum(typeName, values, file);
    for (const dependency of file.dependencies) this.#addFile(dependency);
  }

  #addMessage(message: DescMessage, file: DescFile): void {
    const { typeName } = message;
    this.#messages.set(typeName, message);
    this.#symbols.set(typeName, file);
    for (const { name } of message.fields) this.#symbols.set(`${typeName}.${name}`, file);
    for (const { name } of message.oneofs) this.#symbols.set(`${typeName}.${name}`, file);
    for (const nested of message.nestedMessages) this.#addMessage(nested, file);
    for (const { typeName: name, values } of message.nestedEnums) this.#addEnum(name, values, file);
  }

  // The values of an enum are declared beside it, not in it.
  #addEnum(typeName: string, values: readonly { readonly name: string }[], file: DescFile): void {
    this.#symbols.set(typeName, file);
    const scope = typeName.slice(0, typeName.lastIndexOf('.') + 1);
    for (const { name } of values) this.#symbols.set(scope + name, file);
  }
}

function notFound(what: string): Answer {
  return { case: 'errorResponse', value: { errorCode: GRPC_STATUS.NOT_FOUND, errorMessage: `${what} is not known` } };
}
