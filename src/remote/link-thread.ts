// Runs as the entry of the link's thread. Control messages from the user's thread drive a link to the server of another
// process. They are the same that a server's thread gets.

import { workerData } from 'node:worker_threads';

import { sendFailure } from '../link/sent-error.js';
import { ControlPort, type OwnCall } from '../server/control-port.js';
import { LinkClient } from './link-client.js';
import type { LinkThreadData } from './remote-server.js';

const control = new ControlPort({
  perform,
  stop: ({ timeoutSecs }) => client.stop(timeoutSecs * 1000),
  logError,
});
const { target, timeoutMs } = workerData as LinkThreadData;
let nextOpening = 0;

const client = new LinkClient(target, timeoutMs, {
  open: async (model) => {
    const number = nextOpening++;
    const { ports } = await control.ask({ kind: 'open', model, opening: number, config: undefined });
    return { number, ports };
  },
  tls: async () => (await control.ask({ kind: 'link tls' })).tls ?? {},
  close: async (opening) => void (await control.ask({ kind: 'close', opening })),
  endInstance: (opening, thread, reason) => control.post({ kind: 'end instance', opening, thread, reason }),
  ready: (model, isReady) => control.post({ kind: 'readiness', model, isReady }),
  linked: (isThere, error) => control.post({ kind: 'link', isThere, error: error && sendFailure(error) }),
  failed: logError,
});

function logError(message: string): void {
  // The user's thread knows the format.
  control.post({ kind: 'log', entry: { level: 'error', message, format: 'default' } });
}

function perform(call: OwnCall): Promise<void> | void {
  switch (call.kind) {
    case 'start':
      return client.connect();
    case 'load':
      return client.bind(call.model, call.config);
    case 'attach':
      return client.attach(call.opening, call.port);
    case 'unload':
      return client.unbind(call.config);
    case 'started':
    case 'end load':
    case 'broken':
    case 'retired':
  }
}
