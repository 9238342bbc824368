// Streams of ModelStreamInfer that are hung up on. On node:http2, because a call that grpc-js cancels while answers wait
// to be read keeps its connection open for good.
import { loadSync, type ServiceDefinition } from '@grpc/proto-loader';
import { connect, constants, type ClientHttp2Session } from 'node:http2';
import { fileURLToPath } from 'node:url';

import type { Message } from '../grpc-client.js';

const definition = loadSync('grpc_service.proto', {
  includeDirs: [fileURLToPath(new URL('../../../proto', import.meta.url))],
  keepCase: true,
});
const { requestSerialize: serialize } = (definition['inference.GRPCInferenceService'] as ServiceDefinition)[
  'ModelStreamInfer'
]!;

export class LostStreams {
  readonly #session: ClientHttp2Session;

  /** `url` as `http://host:port`. */
  constructor(url: string) {
    this.#session = connect(url);
    // The server stops now and then; whatever was open then is lost anyway.
    this.#session.on('error', () => undefined);
  }

  close(): void {
    this.#session.destroy();
  }

  /** Sends requests on a stream of their own; resets it when `until` settles. */
  async send(requests: readonly Message[], until: Promise<unknown>): Promise<void> {
    if (this.#session.closed || this.#session.destroyed) return;
    const stream = this.#session.request({
      ':method': 'POST',
      ':path': '/inference.GRPCInferenceService/ModelStreamInfer',
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    stream.on('error', () => undefined);
    stream.resume();
    for (const request of requests) stream.write(framed(serialize(request)));
    await until;
    stream.close(constants.NGHTTP2_CANCEL);
  }
}

function framed(message: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}
