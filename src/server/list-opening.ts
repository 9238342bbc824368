// Lets the instances of tritonserver run the callables of an opened model.

import type { RequestTracing } from '../host/request-tracing.js';
import { ChannelInstance } from '../link/channel-instance.js';
import { PortChannel } from '../link/channel.js';
import { InlineInstance } from '../link/inline-instance.js';
import type { ThreadedInstance } from '../link/instance-supervisor.js';
import type { ServerLogger } from '../logger.js';
import { instanceLogger } from '../observability/logger.js';
import type { InstanceListener } from '../tritonserver/instance-listener.js';
import type { ModelOpening } from './model-opening.js';
import type { HostedModel } from './server-handle.js';

export interface ListingOptions {
  readonly listener: InstanceListener;
  readonly logger: ServerLogger;
  readonly tracing: RequestTracing | undefined;
  /** Called when the process of an instance has died. */
  readonly onLost: () => void;
  /** Called when the last instance has gone. */
  readonly onLeft?: () => void;
}

/** Expects the instances of tritonserver for an opened model. Returns the key that they say. */
export function listOpening(model: HostedModel, opening: ModelOpening, options: ListingOptions): string {
  const { config, callables, threads } = opening;
  const { listener, logger, tracing, onLost, onLeft } = options;
  const { onUnrecoverable } = model;
  const inline = callables.map((callable, index) => {
    const services = { logger: instanceLogger(logger, config, index), onUnrecoverable, tracing };
    return new InlineInstance(config, callable, services);
  });
  const threaded = ({ port, end }: ThreadedInstance) => new ChannelInstance(config, new PortChannel(port), end);
  const instances = [...inline, ...threads.map(threaded)];
  opening.onRestart = (thread) => {
    instances[thread.instance] = threaded(thread);
  };
  return listener.add({
    config,
    instances,
    onConnections: (count) => {
      if (count > 0) return;
      model.isReady = false;
      onLeft?.();
    },
    onLost,
  });
}
