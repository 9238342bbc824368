// Entry of the server's thread: a Server driven by control messages from the user's thread.

import { parentPort, workerData, type MessagePort } from 'node:worker_threads';

import { assert, TritonError } from '../errors.js';
import { PortInstance } from '../link/port-instance.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import type { ControlCall, ControlReply, ControlRequest, LogSettingsNotice } from './control-messages.js';
import { Server, type ServerOptions, type ServerPorts } from './server.js';

assert(parentPort !== null, 'server-thread.js runs in a worker thread only');
const control = parentPort;
const server = new Server(workerData as ServerOptions, (settings) =>
  control.postMessage({ kind: 'log settings', settings } satisfies LogSettingsNotice),
);

control.on('message', ({ id, call }: ControlRequest) => {
  perform(call).then(
    (ports) => {
      control.postMessage({ kind: 'reply', id, ports } satisfies ControlReply);
      // Nothing keeps the thread alive any more.
      if (call.kind === 'stop') control.close();
    },
    (thrown: unknown) => {
      const { code, message } = TritonError.from(thrown);
      control.postMessage({ kind: 'reply', id, error: { code, message } } satisfies ControlReply);
    },
  );
});

async function perform(call: ControlCall): Promise<ServerPorts | undefined> {
  switch (call.kind) {
    case 'start':
      return server.start();
    case 'started':
      server.started();
      return undefined;
    case 'load': {
      await server.load(
        call.config,
        call.ports.map((port) => instanceOf(call.config, port)),
        call.setupMs,
      );
      return undefined;
    }
    case 'attach':
      server.attach(call.config, instanceOf(call.config, call.port));
      return undefined;
    case 'unload':
      await server.unload(call.config);
      return undefined;
    case 'stop':
      await server.stop(call.timeoutSecs);
      return undefined;
  }
}

function instanceOf(config: CompleteModelConfig, port: MessagePort): PortInstance {
  const instance = new PortInstance(config, port);
  instance.onClosed = () => server.lost(config, instance);
  return instance;
}
