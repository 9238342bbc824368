// Entry of an instance's thread: loads the module of its group, sets it up, and runs the batches that come in
// through its own port to the server.

import { type MessagePort, parentPort, workerData } from 'node:worker_threads';

import { assert, TritonError, TritonUnrecoverableError } from '../errors.js';
import { hostedCallable } from '../host/callable-turns.js';
import { type CallableModule, loadCallableModule } from '../host/load-callable-module.js';
import { loadOpenTelemetry } from '../host/opentelemetry.js';
import { RequestTracing } from '../host/request-tracing.js';
import { checkCallables } from '../model/check-callables.js';
import { loadInterrupted } from '../model/interrupted-load.js';
import { instanceLogger, type Logger } from '../model/logger.js';
import { runSetup } from '../model/run-setup.js';
import { ChannelHost } from './channel-host.js';
import { PortChannel } from './channel.js';
import { sendFailure } from './sent-error.js';
import type { ThreadCall, ThreadData, ThreadReport } from './thread-messages.js';

assert(parentPort !== null, 'instance-thread.js runs in a worker thread only');
const supervisor = parentPort;
const { url, tsx, instance, args, config, verboseLevel, traces, port } = workerData as ThreadData;

function report(message: ThreadReport): void {
  supervisor.postMessage(message);
}

const log: Logger = {
  error: (message) => report({ kind: 'log', level: 'error', message }),
  warn: (message) => report({ kind: 'log', level: 'warn', message }),
  info: (message) => report({ kind: 'log', level: 'info', message }),
  verbose: (level, message) => {
    if (level <= verboseLevel) report({ kind: 'log', level, message });
  },
};

const logger = instanceLogger(log, config, instance);

// What nobody catches ends the thread, which is then started again; but not when it says that there is no use in it.
process.on('uncaughtExceptionMonitor', (error: unknown) => {
  if (TritonUnrecoverableError.is(error)) report({ kind: 'unrecoverable', failure: sendFailure(error) });
});

const dlopen = process.dlopen.bind(process);
process.dlopen = (...args: Parameters<typeof process.dlopen>) => {
  report({ kind: 'native code', file: args[1] });
  dlopen(...args);
};

const starting = new AbortController();

async function start(): Promise<CallableModule> {
  const module = await loadCallableModule(url, tsx);
  // As `bind` does with the callables of its own thread.
  checkCallables(module.callable, config.name, config);
  const { name: modelName, version: modelVersion } = config;
  const { signal } = starting;
  signal.throwIfAborted();
  await runSetup(module.setup, { modelName, modelVersion, modelConfig: config, instance, args, logger, signal }, url);
  return module;
}

async function tearDown({ teardown }: CallableModule): Promise<void> {
  try {
    await teardown?.();
  } catch (error) {
    log.error(`teardown of model '${config.name}' failed: ${TritonError.from(error).message}`);
  }
}

/** What the supervisor asks for. While the thread starts, a stop interrupts that. */
let onCall = (call: ThreadCall): void => {
  if (call.kind === 'stop') starting.abort(loadInterrupted());
};
supervisor.on('message', (call: ThreadCall) => {
  if (call.kind === 'end') process.exit(1);
  onCall(call);
});

try {
  const module = await start();
  const tracing = traces ? new RequestTracing(await loadOpenTelemetry()) : undefined;
  const callable = hostedCallable(module.callable, config.concurrency);
  const onUnrecoverable = (error: TritonError) => report({ kind: 'unrecoverable', failure: sendFailure(error) });
  const services = { logger, onUnrecoverable, tracing };
  const connect = (server: MessagePort) => new ChannelHost(new PortChannel(server), config, callable, services);
  let host = connect(port);
  onCall = (call) => {
    if (call.kind === 'connect') {
      host.close();
      host = connect(call.port);
      return;
    }
    void tearDown(module).finally(() => {
      host.close();
      supervisor.close();
    });
  };
  // A stop that `setup` did not heed.
  if (starting.signal.aborted) onCall({ kind: 'stop' });
  else report({ kind: 'ready' });
} catch (error) {
  report({ kind: 'failed', failure: sendFailure(TritonError.from(error)) });
  port.close();
  supervisor.close();
}
