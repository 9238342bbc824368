// Answers server reflection from the serialized descriptors of proto/. Versions v1 and v1alpha differ in name only, so one reader
// and one writer serve both.

import { DESCRIPTORS } from '../protobuf/generated/descriptors.js';
import { ServerReflectionRequest, ServerReflectionResponse } from '../protobuf/generated/reflection-v1.js';
import { message, type MessageType } from '../protobuf/message-type.js';
import { readMessage } from '../protobuf/read-message.js';
import { WireReader } from '../protobuf/wire-reader.js';
import { writeMessage } from '../protobuf/write-message.js';
import { decodeMessage } from './decode-message.js';
import { GRPC_STATUS } from './grpc-status.js';

type Answer = ServerReflectionResponse['messageResponse'];

/** A descriptor of which only the name is read. */
interface Named {
  readonly name: string;
}
interface EnumDescriptor extends Named {
  readonly value: readonly Named[];
}
interface MessageDescriptor extends Named {
  readonly field: readonly Named[];
  readonly nestedType: readonly MessageDescriptor[];
  readonly enumType: readonly EnumDescriptor[];
  readonly oneofDecl: readonly Named[];
}
interface ServiceDescriptor extends Named {
  readonly method: readonly Named[];
}
/** The part of google/protobuf/descriptor.proto that reflection needs. */
interface FileDescriptor extends Named {
  readonly package: string;
  readonly dependency: readonly string[];
  readonly messageType: readonly MessageDescriptor[];
  readonly enumType: readonly EnumDescriptor[];
  readonly service: readonly ServiceDescriptor[];
}

const Named: MessageType<Named> = message('Named', 'name 1 string');
const EnumDescriptor: MessageType<EnumDescriptor> = message('Enum', 'name 1 string\nvalue 2 * 0', () => [Named]);
const MessageDescriptor: MessageType<MessageDescriptor> = message(
  'Message',
  'name 1 string\nfield 2 * 0\nnested_type 3 * 1\nenum_type 4 * 2\noneof_decl 8 * 0',
  () => [Named, MessageDescriptor, EnumDescriptor],
);
const ServiceDescriptor: MessageType<ServiceDescriptor> = message('Service', 'name 1 string\nmethod 2 * 0', () => [
  Named,
]);
const FileDescriptor: MessageType<FileDescriptor> = message(
  'File',
  'name 1 string\npackage 2 string\ndependency 3 * string\nmessage_type 4 * 0\nenum_type 5 * 1\nservice 6 * 2',
  () => [MessageDescriptor, EnumDescriptor, ServiceDescriptor],
);

interface File {
  readonly bytes: Uint8Array;
  readonly descriptor: FileDescriptor;
}

export class Reflection {
  readonly #services: string[] = [];
  readonly #files = new Map<string, File>();
  /** Files by the full names that they declare. */
  readonly #symbols = new Map<string, File>();
  readonly #messages = new Set<string>();

  constructor() {
    const reader = new WireReader('descriptor');
    for (const [name, base64] of Object.entries(DESCRIPTORS)) {
      const bytes = Buffer.from(base64, 'base64');
      const file = { bytes, descriptor: readMessage(FileDescriptor, bytes, reader) };
      this.#files.set(name, file);
      this.#addSymbols(file);
    }
    this.#services.sort();
  }

  /** Answers one serialized request with a serialized response. Throws the errors of {@link decodeMessage}. */
  answer(bytes: Uint8Array): Uint8Array {
    const request = decodeMessage(ServerReflectionRequest, bytes);
    return writeMessage(ServerReflectionResponse, {
      validHost: request.host,
      originalRequest: request,
      messageResponse: this.#answer(request.messageRequest),
    });
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

  #file(file: File | undefined, what: string): Answer {
    if (file === undefined) return notFound(what);
    // The file first, then its imports.
    const files = new Set([file]);
    for (const { descriptor } of files) for (const name of descriptor.dependency) files.add(this.#files.get(name)!);
    return {
      case: 'fileDescriptorResponse',
      value: { fileDescriptorProto: [...files].map(({ bytes }) => bytes) },
    };
  }

  #addSymbols(file: File): void {
    const { descriptor } = file;
    const scope = `${descriptor.package}.`;
    for (const { name, method } of descriptor.service) {
      this.#services.push(scope + name);
      this.#symbols.set(scope + name, file);
      for (const each of method) this.#symbols.set(`${scope}${name}.${each.name}`, file);
    }
    for (const each of descriptor.messageType) this.#addMessage(each, scope, file);
    this.#addEnums(descriptor.enumType, scope, file);
  }

  #addMessage({ name, field, nestedType, enumType, oneofDecl }: MessageDescriptor, scope: string, file: File): void {
    const typeName = scope + name;
    this.#messages.add(typeName);
    this.#symbols.set(typeName, file);
    for (const each of [...field, ...oneofDecl]) this.#symbols.set(`${typeName}.${each.name}`, file);
    for (const nested of nestedType) this.#addMessage(nested, `${typeName}.`, file);
    this.#addEnums(enumType, `${typeName}.`, file);
  }

  // The values of an enum belong to the scope around it, not to the enum.
  #addEnums(enums: readonly EnumDescriptor[], scope: string, file: File): void {
    for (const { name, value } of enums) {
      for (const each of [name, ...value.map((one) => one.name)]) this.#symbols.set(scope + each, file);
    }
  }
}

function notFound(what: string): Answer {
  return { case: 'errorResponse', value: { errorCode: GRPC_STATUS.NOT_FOUND, errorMessage: `${what} is not known` } };
}
