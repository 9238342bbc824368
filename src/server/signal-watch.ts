// Ends the process after a signal when the main thread, which should stop it, is blocked. Node runs the handlers of
// signals in the main thread alone, so a callable there that never ends keeps them from running. This module runs in
// another thread.

import { createRequire } from 'node:module';
import { constants } from 'node:os';

import { ServedTimer } from '../pacing/served-timer.js';
import type { StopTimes } from './server-options.js';

export interface SignalWatchOptions {
  /** For how long after a signal the main thread may be busy, in seconds. */
  readonly limitSecs: number;
  /** Sends the main thread a message, which it answers as soon as it can. */
  readonly ask: () => Promise<unknown>;
  readonly onSignal?: () => void;
  /** Called before the process is ended. */
  readonly onBlocked: () => void;
}

/** Node's handle for a signal; the main thread's `process.on` uses it too. */
interface SignalHandle {
  onsignal: () => void;
  start(signal: number): number;
  unref(): void;
}

const NEEDS_INTERNALS = Number(process.versions.node.split('.')[0]) >= 24;

/** Node's flags for a thread that watches signals. Only our own code runs in such threads. */
export const WATCHING_THREAD_ARGUMENTS: readonly string[] = NEEDS_INTERNALS ? ['--expose-internals'] : [];

export const BLOCKED_TEXT =
  'a signal told the server to stop, and the thread that it was started in is blocked: SIGKILL ends the process';

const SIGNALS = [constants.signals.SIGINT, constants.signals.SIGTERM];
/** The time for the main thread's answer. */
const ANSWER_MILLISECONDS = 1000;

/**
 * Watches SIGINT and SIGTERM for as long as the thread lives. The main thread must have handlers for them, because this
 * disables the system's default action. Returns false where Node has no such handles.
 */
export function watchSignals({ limitSecs, ask, onSignal, onBlocked }: SignalWatchOptions): boolean {
  const Signal = signalHandles();
  if (Signal === undefined) return false;
  let isSignalled = false;
  const check = async () => {
    const isThere = await answered(ask());
    if (isThere) return void setTimeout(() => void check(), ANSWER_MILLISECONDS);
    onBlocked();
    process.kill(process.pid, 'SIGKILL');
  };
  const signalled = () => {
    onSignal?.();
    // A second signal ends a process at once if its main thread can handle it.
    const isSecond = isSignalled;
    isSignalled = true;
    setTimeout(() => void check(), isSecond ? 0 : limitSecs * 1000);
  };
  for (const signal of SIGNALS) {
    const handle = new Signal();
    handle.onsignal = signalled;
    handle.start(signal);
    handle.unref();
  }
  return true;
}

/** How long a stop may take. */
export function secondsOf({ delaySecs, graceSecs, timeoutSecs }: StopTimes): number {
  return (delaySecs > 0 ? delaySecs : graceSecs) + timeoutSecs;
}

function answered(answer: Promise<unknown>): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = new ServedTimer(() => resolve(false), ANSWER_MILLISECONDS, { keepsAlive: true });
    void answer.then(() => {
      timer.clear();
      resolve(true);
    });
  });
}

type SignalBinding = { readonly Signal: new () => SignalHandle };

/**
 * Node has no public way to receive signals outside the main thread; before Node 24 `process.binding` has an internal
 * one.
 */
function signalHandles(): SignalBinding['Signal'] | undefined {
  const { noDeprecation } = process;
  const emitWarning = process.emitWarning.bind(process);
  // Node warns of both that they are internal.
  process.noDeprecation = true;
  process.emitWarning = () => undefined;
  try {
    if (!NEEDS_INTERNALS) {
      const { binding } = process as unknown as { readonly binding: (name: string) => SignalBinding };
      return binding('signal_wrap').Signal;
    }
    const internals = createRequire(import.meta.url)('internal/test/binding') as {
      readonly internalBinding: (name: string) => SignalBinding;
    };
    return internals.internalBinding('signal_wrap').Signal;
  } catch {
    return undefined;
  } finally {
    process.noDeprecation = noDeprecation ?? false;
    process.emitWarning = emitWarning;
  }
}
