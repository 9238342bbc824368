// The gRPC port: methods on a transport.

import type { Logger } from '../../model/logger.js';
import type { Frontend } from '../frontend.js';
import { GRPC_STATUS } from '../../protocol/grpc/grpc-status.js';
import type { GrpcTransport } from './grpc-transport.js';
import { NodeHttp2Transport } from './node-http2-transport.js';
import type { ServedCore } from './served-core.js';
import { servedMethods } from './service.js';
import { UnaryCall } from './unary-call.js';

export interface GrpcFrontendOptions {
  readonly server: ServedCore;
  readonly address: string;
  readonly port: number;
  /** Largest request message in bytes. */
  readonly maxMessageSize: number;
  readonly logger: Logger;
}

export class GrpcFrontend implements Frontend {
  readonly #transport: GrpcTransport;
  readonly #address: string;
  readonly #port: number;

  constructor({ server, address, port, maxMessageSize, logger }: GrpcFrontendOptions) {
    this.#address = address;
    this.#port = port;
    const methods = servedMethods(server);
    this.#transport = new NodeHttp2Transport({
      logger,
      accept(call) {
        const method = methods.get(call.path);
        if (method !== undefined) return new UnaryCall(call, method, maxMessageSize);
        // Without a text, as Triton answers unknown paths.
        call.fail(GRPC_STATUS.UNIMPLEMENTED, '');
        return undefined;
      },
    });
  }

  start(): Promise<number> {
    return this.#transport.listen(this.#address, this.#port);
  }

  drain(): void {
    this.#transport.drain();
  }

  close(): Promise<void> {
    return this.#transport.close();
  }
}
