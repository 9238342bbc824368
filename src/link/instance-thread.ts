// Entry of an instance's thread: loads the module of its group and sets it up. Then it runs the batches that come
// through its own port to the server.

import { type MessagePort, parentPort, workerData } from 'node:worker_threads';

import { assert, TritonError, TritonUnrecoverableError } from '../errors.js';
import { hostedCallable } from '../host/callable-turns.js';
import { type CallableModule, loadCallableModule } from '../host/load-callable-module.js';
import { loadOpenTelemetry } from '../host/opentelemetry.js';
import { RequestTracing } from '../host/request-tracing.js';
import { checkCallables } from '../model/check-callables.js';
import { loadInterrupted } from '../lifecycle/interrupted-load.js';
import { expectStateSource } from '../model/sequence-state-source.js';
import { instanceLogger, type Logger } from '../observability/logger.js';
import { runSetup, setupContext } from '../model/run-setup.js';
import { ChannelHost } from './channel-host.js';
import { HostPort } from './host-port.js';
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

// An uncaught error ends the thread, and the supervisor starts it again; but not after an unrecoverable error.
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
  // `bind` does the same with the callables of its own thread.
  checkCallables(module.callable, config.name, config);
  expectStateSource(module.state, config, url);
  const { signal } = starting;
  signal.throwIfAborted();
  await runSetup(module.setup, setupContext(config, { instance, args, logger, signal }), url);
  return module;
}

async function tearDown({ teardown }: CallableModule): Promise<void> {
  try {
    await teardown?.();
  } catch (error) {
    log.error(`teardown of model '${config.name}' failed: ${TritonError.from(error).message}`);
  }
}

/** Does what the supervisor asks. While the thread starts, a stop interrupts the start. */
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
  const callable = hostedCallable(module.callable, config.concurrency, module.state);
  const onUnrecoverable = (error: TritonError) => report({ kind: 'unrecoverable', failure: sendFailure(error) });
  const services = { logger, onUnrecoverable, tracing };
  const connect = (server: MessagePort) => new ChannelHost(new HostPort(server), config, callable, services);
  let host = connect(port);
  // What was executed before a callable ended the thread, by `process.exit` or an error that nobody caught, is answered.
  process.on('exit', () => host.flushAll());
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
  report({ kind: 'ready' });
  // A stop came during `setup`, which did not heed it.
  if (starting.signal.aborted) onCall({ kind: 'stop' });
} catch (error) {
  report({ kind: 'failed', failure: sendFailure(TritonError.from(error)) });
  port.close();
  supervisor.close();
}
