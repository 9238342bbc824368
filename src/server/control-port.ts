// The end of a thread that control messages of the user's thread drive: it answers their calls, and asks things itself.

import { parentPort } from 'node:worker_threads';

import { assert, TritonError } from '../errors.js';
import { sendFailure } from '../link/sent-error.js';
import type { LogEntry } from '../logger.js';
import type {
  ControlCall,
  ControlRequest,
  HostReply,
  HostRequest,
  ServerMessage,
  UserMessage,
} from './control-messages.js';
import { PendingReplies } from './pending-replies.js';
import type { ServerPorts, StopTimes } from './server-options.js';
import { BLOCKED_TEXT, secondsOf, watchSignals } from './signal-watch.js';

/** A call that each thread performs in a way of its own. */
export type OwnCall = Exclude<ControlCall, { readonly kind: 'watch signals' | 'stop' }>;

export interface ControlTaker {
  /** `start` gives the ports. */
  readonly perform: (call: OwnCall) => Promise<ServerPorts | void> | void;
  /** Called once. */
  readonly stop: (times: StopTimes) => Promise<void>;
  readonly logError: (message: string) => void;
  /** Called with entries of the user's thread. */
  readonly onLog?: (entry: LogEntry) => void;
}

/** How long the user's thread may take to ask for a stop after a signal, before it counts as blocked. */
const USER_MILLISECONDS = 250;

export class ControlPort {
  readonly #taker: ControlTaker;
  readonly #port: NonNullable<typeof parentPort>;
  readonly #asked = new PendingReplies<HostReply>();
  #stopping: Promise<void> | undefined;

  constructor(taker: ControlTaker) {
    assert(parentPort !== null, 'this module runs in a worker thread only');
    this.#taker = taker;
    this.#port = parentPort;
    this.#port.on('message', (message: UserMessage) => {
      if (message.kind === 'call') this.#answer(message);
      else if (message.kind === 'log') taker.onLog?.(message.entry);
      else this.#asked.settle(message);
    });
  }

  post(message: ServerMessage, transfer: readonly ArrayBuffer[] = []): void {
    this.#port.postMessage(message, [...transfer]);
  }

  /** Asks the user's thread to open or close the instances of a load, or to load a model. */
  ask(action: HostRequest['action'], transfer: readonly ArrayBuffer[] = []): Promise<HostReply> {
    return this.#asked.ask((id) => this.post({ kind: 'host', id, action }, transfer));
  }

  #answer({ id, call }: ControlRequest): void {
    this.#perform(call).then(
      (ports) => {
        this.post({ kind: 'reply', id, ports });
        // Then nothing keeps the thread alive any more.
        if (call.kind === 'stop') this.#port.close();
      },
      (thrown: unknown) => this.post({ kind: 'reply', id, error: sendFailure(TritonError.from(thrown)) }),
    );
  }

  async #perform(call: ControlCall): Promise<ServerPorts | undefined> {
    if (call.kind === 'stop') await this.#stop(call.times);
    else if (call.kind === 'watch signals') this.#watch(call.times);
    else return (await this.#taker.perform(call)) ?? undefined;
    return undefined;
  }

  #stop(times: StopTimes): Promise<void> {
    return (this.#stopping ??= this.#taker.stop(times));
  }

  #watch(times: StopTimes): void {
    watchSignals({
      limitSecs: secondsOf(times) + USER_MILLISECONDS / 1000,
      ask: () => this.ask({ kind: 'ping' }),
      // A blocked user's thread cannot ask for the stop.
      onSignal: () => void setTimeout(() => void this.#stop(times), USER_MILLISECONDS),
      onBlocked: () => this.#taker.logError(BLOCKED_TEXT),
    });
  }
}
