// Entry of the server's thread: a Server driven by control messages from the user's thread.

import { parentPort, workerData, type MessagePort } from 'node:worker_threads';

import { assert, TritonError } from '../errors.js';
import { receiveFailure, sendFailure } from '../link/sent-error.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import type {
  ControlCall,
  ControlReply,
  ControlRequest,
  HostReply,
  HostRequest,
  LogSettingsNotice,
  TracesNotice,
  UserMessage,
} from './control-messages.js';
import type { ServerOptions } from './server-options.js';
import { Server, type ServerPorts } from './server.js';

assert(parentPort !== null, 'server-thread.js runs in a worker thread only');
const control = parentPort;
const server = new Server(workerData as ServerOptions, {
  onLogSettings: (settings) => control.postMessage({ kind: 'log settings', settings } satisfies LogSettingsNotice),
  onTraces: (ended) => control.postMessage({ kind: 'traces', ended } satisfies TracesNotice),
});

interface Waiting {
  readonly resolve: (ports: readonly MessagePort[]) => void;
  readonly reject: (error: TritonError) => void;
}

const waiting = new Map<number, Waiting>();
/** What models that have instances were loaded with, by the number that stands for each. */
const opened = new Map<number, CompleteModelConfig>();
let nextId = 0;

control.on('message', (message: UserMessage) => {
  if (message.kind === 'call') answer(message);
  else settle(message);
});

function answer({ id, call }: ControlRequest): void {
  perform(call).then(
    (ports) => {
      control.postMessage({ kind: 'reply', id, ports } satisfies ControlReply);
      // Nothing keeps the thread alive any more.
      if (call.kind === 'stop') control.close();
    },
    (thrown: unknown) => {
      const error = sendFailure(TritonError.from(thrown));
      control.postMessage({ kind: 'reply', id, error } satisfies ControlReply);
    },
  );
}

/** Asks the user's thread for the instances of a model, or tells it that they are closed. */
function ask(action: HostRequest['action'], model: number): Promise<readonly MessagePort[]> {
  return new Promise((resolve, reject) => {
    const id = nextId++;
    waiting.set(id, { resolve, reject });
    control.postMessage({ kind: 'host', id, action, model } satisfies HostRequest);
  });
}

function settle({ id, ports, error }: HostReply): void {
  const asked = waiting.get(id);
  waiting.delete(id);
  if (error === undefined) asked?.resolve(ports);
  else asked?.reject(receiveFailure(error));
}

async function perform(call: ControlCall): Promise<ServerPorts | undefined> {
  switch (call.kind) {
    case 'start':
      return server.start();
    case 'started':
      server.started();
      return undefined;
    case 'load': {
      const { config, model } = call;
      await server.load(config, {
        open: async () => {
          opened.set(model, config);
          return (await ask('open', model)).map((port) => server.instanceAt(config, port));
        },
        close: async () => {
          opened.delete(model);
          await ask('close', model);
        },
      });
      return undefined;
    }
    case 'attach':
      attach(call.model, call.port);
      return undefined;
    case 'unload':
      await server.unload(call.config);
      return undefined;
    case 'stop':
      await server.stop(call.timeoutSecs);
      return undefined;
  }
}

function attach(model: number, port: MessagePort): void {
  const config = opened.get(model);
  if (config === undefined) port.close();
  else server.attach(config, port);
}
