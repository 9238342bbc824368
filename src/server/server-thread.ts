// Runs as the entry of the server's thread: control messages from the user's thread drive a Server.

import { parentPort, workerData } from 'node:worker_threads';

import type { LoadParameters } from '../core/client-loads.js';
import { assert, TritonError } from '../errors.js';
import { PortChannel } from '../link/channel.js';
import { ChannelInstance } from '../link/channel-instance.js';
import { receiveFailure, sendFailure } from '../link/sent-error.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import type {
  ControlCall,
  ControlReply,
  ControlRequest,
  EndInstanceNotice,
  HostReply,
  HostRequest,
  InstancePort,
  LogNotice,
  LogSettingsNotice,
  ReadinessNotice,
  ServerThreadData,
  TracesNotice,
  UserMessage,
} from './control-messages.js';
import { LEAST_LARGE_BYTES } from '../sockets/large-memory.js';
import { watchPulse } from './owner-pulse.js';
import type { InstanceSource } from './served-model.js';
import type { OpenedInstances } from './served-opening.js';
import type { ServerPorts, StopTimes } from './server-options.js';
import { BLOCKED_TEXT, secondsOf, watchSignals } from './signal-watch.js';
import { Server } from './server.js';

assert(parentPort !== null, 'server-thread.js runs in a worker thread only');
const control = parentPort;
const { options, beats } = workerData as ServerThreadData;
const server = new Server(options, {
  loadFolder: async (name, parameters, ready) =>
    (await ask({ kind: 'load folder', name, parameters, ready }, memoryOf(parameters.files))).isThere === true,
  onLog: options.hasLogger ? (entry) => control.postMessage({ kind: 'log', entry } satisfies LogNotice) : undefined,
  onLogSettings: (settings) => control.postMessage({ kind: 'log settings', settings } satisfies LogSettingsNotice),
  onTraces: (ended) => control.postMessage({ kind: 'traces', ended } satisfies TracesNotice),
});

watchPulse(beats, (isBlocked) => server.ownerBlocked(isBlocked));

interface Waiting {
  readonly resolve: (reply: HostReply) => void;
  readonly reject: (error: TritonError) => void;
}

const waiting = new Map<number, Waiting>();
/** The takers of restarted instances, by the number of the load. */
const openings = new Map<number, (port: InstancePort) => void>();
let nextId = 0;
let stopping: Promise<void> | undefined;
/** How long the user's thread may take to ask for a stop after a signal, before it counts as blocked. */
const USER_MILLISECONDS = 250;

control.on('message', (message: UserMessage) => {
  if (message.kind === 'call') answer(message);
  else if (message.kind === 'log') server.logged(message.entry);
  else settle(message);
});

function answer({ id, call }: ControlRequest): void {
  perform(call).then(
    (ports) => {
      control.postMessage({ kind: 'reply', id, ports } satisfies ControlReply);
      // Then nothing keeps the thread alive any more.
      if (call.kind === 'stop') control.close();
    },
    (thrown: unknown) => {
      const error = sendFailure(TritonError.from(thrown));
      control.postMessage({ kind: 'reply', id, error } satisfies ControlReply);
    },
  );
}

/** Asks the user's thread to open or close the instances of a load, or to load a model. */
function ask(action: HostRequest['action'], transfer: readonly ArrayBuffer[] = []): Promise<HostReply> {
  return new Promise((resolve, reject) => {
    const id = nextId++;
    waiting.set(id, { resolve, reject });
    control.postMessage({ kind: 'host', id, action } satisfies HostRequest, [...transfer]);
  });
}

/** Memory of files that moves to the user's thread. Small memory is copied, because it may be part of Node's pool. */
function memoryOf(files: LoadParameters['files']): readonly ArrayBuffer[] {
  const all = Object.values(files).flatMap((file) => (file === undefined ? [] : [file.buffer as ArrayBuffer]));
  return [...new Set(all)].filter(({ byteLength }) => byteLength >= LEAST_LARGE_BYTES);
}

/** The source of a model's instances, which are at the other ends of ports. */
function sourceOf(model: number, bound: CompleteModelConfig): InstanceSource {
  return {
    open: async (override) => {
      const opening = nextId++;
      const instanceAt = ({ port, thread }: InstancePort) => {
        const end = (reason: string) =>
          control.postMessage({
            kind: 'end instance',
            opening,
            thread: thread!,
            reason,
          } satisfies EndInstanceNotice);
        return new ChannelInstance(override ?? bound, new PortChannel(port), thread === undefined ? undefined : end);
      };
      const { ports } = await ask({ kind: 'open', model, opening, config: override });
      const opened: OpenedInstances = {
        instances: ports.map(instanceAt),
        onRestart: (instance) => instance.close?.(),
        close: async () => {
          openings.delete(opening);
          await ask({ kind: 'close', opening });
        },
      };
      openings.set(opening, (port) => opened.onRestart(instanceAt(port)));
      return opened;
    },
    onReady: (isReady) => control.postMessage({ kind: 'readiness', model, isReady } satisfies ReadinessNotice),
  };
}

function settle(reply: HostReply): void {
  const asked = waiting.get(reply.id);
  waiting.delete(reply.id);
  if (reply.error === undefined) asked?.resolve(reply);
  else asked?.reject(receiveFailure(reply.error));
}

async function perform(call: ControlCall): Promise<ServerPorts | undefined> {
  switch (call.kind) {
    case 'start':
      return server.start();
    case 'started':
      await server.started();
      return undefined;
    case 'load':
      await server.load(call.config, sourceOf(call.model, call.config), call);
      return undefined;
    case 'broken':
      server.listBroken(call.models);
      return undefined;
    case 'attach':
      attach(call.opening, call.port);
      return undefined;
    case 'unload':
      await server.unload(call.config);
      return undefined;
    case 'retired':
      await server.retired(call.config);
      return undefined;
    case 'watch signals':
      watch(call.times);
      return undefined;
    case 'stop':
      await stop(call.times);
      return undefined;
  }
}

function stop(times: StopTimes): Promise<void> {
  return (stopping ??= server.stop(times));
}

function watch(times: StopTimes): void {
  watchSignals({
    limitSecs: secondsOf(times) + USER_MILLISECONDS / 1000,
    ask: () => ask({ kind: 'ping' }),
    // A blocked user's thread cannot ask for the stop.
    onSignal: () => void setTimeout(() => void stop(times), USER_MILLISECONDS),
    onBlocked: () => server.logger.error(BLOCKED_TEXT),
  });
}

function attach(opening: number, port: InstancePort): void {
  const restarted = openings.get(opening);
  if (restarted === undefined) port.port.close();
  else restarted(port);
}
