// The floor for gRPC: a @grpc/grpc-js server that echoes the message of ModelInfer without decoding it. What a real
// server saves or costs against it is transport alone against transport, protobuf and inference.

import { Server, ServerCredentials } from '@grpc/grpc-js';
import type { sendUnaryData, ServerUnaryCall } from '@grpc/grpc-js';

import { serveControl } from '../control-channel.js';
import { modelInfer } from '../real-clients.js';

const server = new Server();
server.addService(
  { ModelInfer: modelInfer },
  {
    ModelInfer: (call: ServerUnaryCall<Buffer, Buffer>, callback: sendUnaryData<Buffer>): void =>
      callback(null, call.request),
  },
);

server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) => {
  if (error) throw error;
  serveControl({
    ports: { grpcPort: port },
    stop: () => {
      server.forceShutdown();
      return Promise.resolve();
    },
  });
});
