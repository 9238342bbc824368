// Entry of an instance's thread: loads the module of its group, sets it up, and runs the batches that come in
// through its own port to the server.

import { parentPort, workerData } from 'node:worker_threads';

import { assert, TritonError } from '../errors.js';
import type { Logger } from '../model/logger.js';
import { loadCallableModule, type CallableModule } from './load-callable-module.js';
import { sendError } from './messages.js';
import { PortHost } from './port-host.js';
import type { ThreadData, ThreadReport, ThreadStop } from './thread-messages.js';

assert(parentPort !== null, 'instance-thread.js runs in a worker thread only');
const supervisor = parentPort;
const { url, instance, args, config, verboseLevel, port } = workerData as ThreadData;

function report(message: ThreadReport): void {
  supervisor.postMessage(message);
}

const logger: Logger = {
  error: (message) => report({ kind: 'log', level: 'error', message }),
  warn: (message) => report({ kind: 'log', level: 'warn', message }),
  info: (message) => report({ kind: 'log', level: 'info', message }),
  verbose: (level, message) => {
    if (level <= verboseLevel) report({ kind: 'log', level, message });
  },
};

async function start(): Promise<CallableModule> {
  const module = await loadCallableModule(url);
  await module.setup?.({
    modelName: config.name,
    modelVersion: config.version,
    modelConfig: config,
    instance,
    args,
    logger,
  });
  return module;
}

try {
  const module = await start();
  const host = new PortHost(port, config, module.callable, logger);
  host.onUnrecoverable = (error) => report({ kind: 'unrecoverable', error: sendError(error) });
  supervisor.on('message', (message: ThreadStop) => {
    if (message.kind !== 'stop') return;
    const end = () => {
      host.close();
      supervisor.close();
    };
    Promise.resolve(module.teardown?.()).then(end, (error: unknown) => {
      logger.error(`teardown of model '${config.name}' failed: ${TritonError.from(error).message}`);
      end();
    });
  });
  report({ kind: 'ready' });
} catch (error) {
  report({ kind: 'failed', error: sendError(TritonError.from(error)) });
  port.close();
  supervisor.close();
}
