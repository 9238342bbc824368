// Runs as the entry of a small thread that watches signals, for a server in the main thread, which may be blocked when
// one comes.

import { parentPort, workerData } from 'node:worker_threads';

import { assert } from '../errors.js';
import { BLOCKED_TEXT, watchSignals } from './signal-watch.js';
import { openLogSink } from './log-sink.js';
import { ServerLogger } from '../logger.js';
import type { SignalThreadData, SignalThreadMessage } from './signal-watcher.js';

assert(parentPort !== null, 'signal-thread.js runs in a worker thread only');
const main = parentPort;
const { limitSecs, logFile, logSettings } = workerData as SignalThreadData;
let answered: () => void = () => undefined;
main.on('message', () => answered());

const say = (message: SignalThreadMessage) => main.postMessage(message);
watchSignals({
  limitSecs,
  ask: () =>
    new Promise<void>((resolve) => {
      answered = resolve;
      say('are you there?');
    }),
  onBlocked: () => new ServerLogger(openLogSink(logFile), logSettings).error(BLOCKED_TEXT),
});
say('watching');
