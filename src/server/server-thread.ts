// Runs as the entry of the server's thread: control messages from the user's thread drive a Server.

import { workerData } from 'node:worker_threads';

import type { LoadParameters } from '../core/client-loads.js';
import { PortChannel } from '../link/channel.js';
import { ChannelInstance } from '../link/channel-instance.js';
import { followSignal } from '../lifecycle/follow-signal.js';
import { loadSuperseded } from '../lifecycle/interrupted-load.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import { LEAST_LARGE_BYTES } from '../sockets/large-memory.js';
import type { InstancePort, ServerThreadData } from './control-messages.js';
import { ControlPort, type OwnCall } from './control-port.js';
import { watchPulse } from './owner-pulse.js';
import type { InstanceSource } from './served-model.js';
import type { OpenedInstances } from './served-opening.js';
import type { ServerPorts } from './server-options.js';
import { Server } from './server.js';

const control = new ControlPort({
  perform,
  stop: (times) => server.stop(times),
  logError: (message) => server.logger.error(message),
  onLog: (entry) => server.logged(entry),
});
const { options, beats } = workerData as ServerThreadData;
const server = new Server(options, {
  loadFolder: async (name, parameters, ready) => {
    const action = { kind: 'load folder', name, parameters, ready } as const;
    return (await control.ask(action, memoryOf(parameters.files))).isThere === true;
  },
  onLog: options.hasLogger ? (entry) => control.post({ kind: 'log', entry }) : undefined,
  onLogSettings: (settings) => control.post({ kind: 'log settings', settings }),
  onTraces: (ended) => control.post({ kind: 'traces', ended }),
});

watchPulse(beats, (isBlocked) => server.ownerBlocked(isBlocked));

/** The takers of restarted instances, by the number of the load. */
const openings = new Map<number, (port: InstancePort) => void>();
let nextOpening = 0;
/** End the loads under way, by the number of the model. */
const loads = new Map<number, AbortController>();

/** Memory of files that moves to the user's thread. Small memory is copied, because it may be part of Node's pool. */
function memoryOf(files: LoadParameters['files']): readonly ArrayBuffer[] {
  const all = Object.values(files).flatMap((file) => (file === undefined ? [] : [file.buffer as ArrayBuffer]));
  return [...new Set(all)].filter(({ byteLength }) => byteLength >= LEAST_LARGE_BYTES);
}

/** The source of a model's instances, which are at the other ends of ports. */
function sourceOf(model: number, bound: CompleteModelConfig): InstanceSource {
  return {
    open: async (override, signal) => {
      const opening = nextOpening++;
      const instanceAt = ({ port, thread }: InstancePort) => {
        const end = (reason: string) => control.post({ kind: 'end instance', opening, thread: thread!, reason });
        return new ChannelInstance(override ?? bound, new PortChannel(port), thread === undefined ? undefined : end);
      };
      const close = () => control.ask({ kind: 'close', opening });
      const unfollow = followSignal(signal, () => void close().catch(() => undefined));
      const { ports } = await control.ask({ kind: 'open', model, opening, config: override }).finally(unfollow);
      const opened: OpenedInstances = {
        instances: ports.map(instanceAt),
        onRestart: (instance) => instance.close?.(),
        close: async () => {
          openings.delete(opening);
          await close();
        },
      };
      openings.set(opening, (port) => opened.onRestart(instanceAt(port)));
      return opened;
    },
    onReady: (isReady) => control.post({ kind: 'readiness', model, isReady }),
  };
}

function perform(call: OwnCall): Promise<ServerPorts | void> | void {
  switch (call.kind) {
    case 'start':
      return server.start();
    case 'started':
      return server.started();
    case 'load':
      return load(call);
    case 'end load':
      return loads.get(call.model)?.abort(loadSuperseded());
    case 'broken':
      return server.listBroken(call.models);
    case 'attach':
      return attach(call.opening, call.port);
    case 'unload':
      return server.unload(call.config);
    case 'retired':
      return server.retired(call.config);
  }
}

async function load({ config, model, again, now }: Extract<OwnCall, { kind: 'load' }>): Promise<void> {
  const ending = new AbortController();
  loads.set(model, ending);
  try {
    await server.load(config, sourceOf(model, config), { again, now, signal: ending.signal });
  } finally {
    loads.delete(model);
  }
}

function attach(opening: number, port: InstancePort): void {
  const restarted = openings.get(opening);
  if (restarted === undefined) port.port.close();
  else restarted(port);
}
