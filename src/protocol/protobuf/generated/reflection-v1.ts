// Written by scripts/generate-messages.js from proto/.

import { message, type MessageType } from '../message-type.js';

export interface ServerReflectionRequest {
  readonly host: string;
  readonly messageRequest:
    | { readonly case: 'fileByFilename'; readonly value: string }
    | { readonly case: 'fileContainingSymbol'; readonly value: string }
    | { readonly case: 'fileContainingExtension'; readonly value: ExtensionRequest }
    | { readonly case: 'allExtensionNumbersOfType'; readonly value: string }
    | { readonly case: 'listServices'; readonly value: string }
    | { readonly case: undefined; readonly value?: undefined };
}
export const ServerReflectionRequest: MessageType<ServerReflectionRequest> = /*@__PURE__*/ message('grpc.reflection.v1.ServerReflectionRequest', `
host 1 string
oneof message_request
 file_by_filename 3 string
 file_containing_symbol 4 string
 file_containing_extension 5 0
 all_extension_numbers_of_type 6 string
 list_services 7 string`, () => [ExtensionRequest]);

export interface ExtensionRequest {
  readonly containingType: string;
  readonly extensionNumber: number;
}
export const ExtensionRequest: MessageType<ExtensionRequest> = /*@__PURE__*/ message('grpc.reflection.v1.ExtensionRequest', `
containing_type 1 string
extension_number 2 int32`);

export interface ServerReflectionResponse {
  readonly validHost: string;
  readonly originalRequest: ServerReflectionRequest | undefined;
  readonly messageResponse:
    | { readonly case: 'fileDescriptorResponse'; readonly value: FileDescriptorResponse }
    | { readonly case: 'allExtensionNumbersResponse'; readonly value: ExtensionNumberResponse }
    | { readonly case: 'listServicesResponse'; readonly value: ListServiceResponse }
    | { readonly case: 'errorResponse'; readonly value: ErrorResponse }
    | { readonly case: undefined; readonly value?: undefined };
}
export const ServerReflectionResponse: MessageType<ServerReflectionResponse> = /*@__PURE__*/ message('grpc.reflection.v1.ServerReflectionResponse', `
valid_host 1 string
original_request 2 0
oneof message_response
 file_descriptor_response 4 1
 all_extension_numbers_response 5 2
 list_services_response 6 3
 error_response 7 4`, () => [ServerReflectionRequest, FileDescriptorResponse, ExtensionNumberResponse, ListServiceResponse, ErrorResponse]);

export interface FileDescriptorResponse {
  readonly fileDescriptorProto: readonly Uint8Array[];
}
export const FileDescriptorResponse: MessageType<FileDescriptorResponse> = /*@__PURE__*/ message('grpc.reflection.v1.FileDescriptorResponse', `
file_descriptor_proto 1 * bytes`);

export interface ExtensionNumberResponse {
  readonly baseTypeName: string;
  readonly extensionNumber: readonly number[];
}
export const ExtensionNumberResponse: MessageType<ExtensionNumberResponse> = /*@__PURE__*/ message('grpc.reflection.v1.ExtensionNumberResponse', `
base_type_name 1 string
extension_number 2 * int32`);

export interface ListServiceResponse {
  readonly service: readonly ServiceResponse[];
}
export const ListServiceResponse: MessageType<ListServiceResponse> = /*@__PURE__*/ message('grpc.reflection.v1.ListServiceResponse', `
service 1 * 0`, () => [ServiceResponse]);

export interface ServiceResponse {
  readonly name: string;
}
export const ServiceResponse: MessageType<ServiceResponse> = /*@__PURE__*/ message('grpc.reflection.v1.ServiceResponse', `
name 1 string`);

export interface ErrorResponse {
  readonly errorCode: number;
  readonly errorMessage: string;
}
export const ErrorResponse: MessageType<ErrorResponse> = /*@__PURE__*/ message('grpc.reflection.v1.ErrorResponse', `
error_code 1 int32
error_message 2 string`);

/** What each method of grpc.reflection.v1.ServerReflection takes and gives. */
export const ServerReflectionMethods = {
  ServerReflectionInfo: { input: ServerReflectionRequest, output: ServerReflectionResponse },
};
