// Runs as the entry of the link's thread. Control messages from the user's thread drive a link to the server of another
// process. They are the same that a server's thread gets.

import { parentPort, workerData } from 'node:worker_threads';

import { assert, TritonError } from '../errors.js';
import { receiveFailure, sendFailure } from '../link/sent-error.js';
import type {
  ControlCall,
  ControlReply,
  ControlRequest,
  EndInstanceNotice,
  HostReply,
  HostRequest,
  LinkNotice,
  LogNotice,
  ReadinessNotice,
  UserMessage,
} from '../server/control-messages.js';
import { BLOCKED_TEXT, secondsOf, watchSignals } from '../server/signal-watch.js';
import type { StopTimes } from '../server/server-options.js';
import { LinkClient } from './link-client.js';
import type { LinkThreadData } from './remote-server.js';

assert(parentPort !== null, 'link-thread.js runs in a worker thread only');
const control = parentPort;
const { target, timeoutMs } = workerData as LinkThreadData;
const waiting = new Map<number, { resolve: (reply: HostReply) => void; reject: (error: TritonError) => void }>();
let nextId = 0;
let stopping: Promise<void> | undefined;
/** How long the user's thread may take to ask for a stop after a signal, before it counts as blocked. */
const USER_MILLISECONDS = 250;

const client = new LinkClient(target, timeoutMs, {
  open: async (model) => {
    const number = nextId++;
    const { ports } = await ask({ kind: 'open', model, opening: number, config: undefined });
    return { number, ports };
  },
  close: async (opening) => void (await ask({ kind: 'close', opening })),
  endInstance: (opening, thread, reason) =>
    control.postMessage({ kind: 'end instance', opening, thread, reason } satisfies EndInstanceNotice),
  ready: (model, isReady) => control.postMessage({ kind: 'readiness', model, isReady } satisfies ReadinessNotice),
  linked: (isThere, error) =>
    control.postMessage({ kind: 'link', isThere, error: error && sendFailure(error) } satisfies LinkNotice),
  failed: logError,
});

control.on('message', (message: Exclude<UserMessage, LogNotice>) => {
  if (message.kind === 'call') return answer(message);
  const asked = waiting.get(message.id);
  waiting.delete(message.id);
  if (message.error === undefined) asked?.resolve(message);
  else asked?.reject(receiveFailure(message.error));
});

function logError(message: string): void {
  // The user's thread knows the format.
  control.postMessage({ kind: 'log', entry: { level: 'error', message, format: 'default' } } satisfies LogNotice);
}

function answer({ id, call }: ControlRequest): void {
  perform(call).then(
    () => {
      control.postMessage({ kind: 'reply', id } satisfies ControlReply);
      // Then nothing keeps the thread alive any more.
      if (call.kind === 'stop') control.close();
    },
    (thrown: unknown) => {
      const error = sendFailure(TritonError.from(thrown));
      control.postMessage({ kind: 'reply', id, error } satisfies ControlReply);
    },
  );
}

/** Asks the user's thread to open or close the instances of a load. */
function ask(action: HostRequest['action']): Promise<HostReply> {
  return new Promise((resolve, reject) => {
    const id = nextId++;
    waiting.set(id, { resolve, reject });
    control.postMessage({ kind: 'host', id, action } satisfies HostRequest);
  });
}

async function perform(call: ControlCall): Promise<void> {
  switch (call.kind) {
    case 'start':
      return client.connect();
    case 'load':
      return client.bind(call.model, call.config);
    case 'attach':
      return client.attach(call.opening, call.port);
    case 'unload':
      return client.unbind(call.config);
    case 'watch signals':
      return watch(call.times);
    case 'stop':
      return stop(call.times);
    case 'started':
    case 'broken':
    case 'retired':
  }
}

function stop({ timeoutSecs }: StopTimes): Promise<void> {
  return (stopping ??= client.stop(timeoutSecs * 1000));
}

function watch(times: StopTimes): void {
  watchSignals({
    limitSecs: secondsOf(times) + USER_MILLISECONDS / 1000,
    ask: () => ask({ kind: 'ping' }),
    // A blocked user's thread cannot ask for the stop.
    onSignal: () => void setTimeout(() => void stop(times), USER_MILLISECONDS),
    onBlocked: () => logError(BLOCKED_TEXT),
  });
}
