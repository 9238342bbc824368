// The unary methods of the inference service, typed by name.

import { GRPCInferenceServiceMethods } from '../protobuf/generated/grpc-service.js';
import type { MessageType } from '../protobuf/message-type.js';
import type { Init } from '../protobuf/values.js';
import { writeMessage } from '../protobuf/write-message.js';
import { frameMessage } from './message-frame.js';

type Methods = typeof GRPCInferenceServiceMethods;
export type UnaryName = Exclude<keyof Methods, 'ModelStreamInfer'>;
type ValueOf<Type> = Type extends MessageType<infer T> ? T : never;
export type InputOf<Name extends UnaryName> = ValueOf<Methods[Name]['input']>;
export type OutputOf<Name extends UnaryName> = ValueOf<Methods[Name]['output']>;

export function inputType<Name extends UnaryName>(name: Name): MessageType<InputOf<Name>> {
  return GRPCInferenceServiceMethods[name].input as MessageType<object> as MessageType<InputOf<Name>>;
}

export function outputType<Name extends UnaryName>(name: Name): MessageType<OutputOf<Name>> {
  return GRPCInferenceServiceMethods[name].output as MessageType<object> as MessageType<OutputOf<Name>>;
}

/** A request of the method as one gRPC frame. */
export function frameRequest<Name extends UnaryName>(name: Name, message: Init<InputOf<Name>>): Buffer {
  return frameMessage(writeMessage(inputType(name), message));
}
