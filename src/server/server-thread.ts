// Entry of the server's thread: a Server driven by control messages from the user's thread.

import { parentPort, workerData } from 'node:worker_threads';

import { assert, TritonError } from '../errors.js';
import { PortInstance } from '../link/port-instance.js';
import type { ControlCall, ControlReply, ControlRequest, LogSettingsNotice } from './control-messages.js';
import { Server, type ServerOptions, type ServerPorts } from './server.js';

assert(parentPort !== null, 'server-thread.js runs in a worker thread only');
const control = parentPort;
const server = new Server(workerData as ServerOptions, (settings) =>
  control.postMessage({ kind: 'log settings', settings } satisfies LogSettingsNotice),
);
const instances: PortInstance[] = [];

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
      const loaded = call.ports.map((port) => new PortInstance(call.config, port));
      instances.push(...loaded);
      await server.load(call.config, loaded);
      return undefined;
    }
    case 'stop':
      await server.stop();
      for (const instance of instances) instance.close();
      return undefined;
  }
}
