// What the user's thread asks of the server's thread, and the answers: calls with numbers, a few in a server's
// life. Requests for inference do not pass here.

import type { MessagePort } from 'node:worker_threads';

import type { ErrorCode } from '../errors.js';
import type { LogSettings } from '../logger.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import type { ServerPorts } from './server.js';

export type ControlCall =
  | { readonly kind: 'start' }
  | { readonly kind: 'started' }
  | {
      readonly kind: 'load';
      readonly config: CompleteModelConfig;
      readonly ports: readonly MessagePort[];
      readonly setupMs: number;
    }
  | { readonly kind: 'attach'; readonly config: CompleteModelConfig; readonly port: MessagePort }
  | { readonly kind: 'unload'; readonly config: CompleteModelConfig }
  | { readonly kind: 'stop'; readonly timeoutSecs: number | undefined };

/** A call on its way. */
export interface ControlRequest {
  readonly id: number;
  readonly call: ControlCall;
}

/** Its answer: `start` answers the ports. */
export interface ControlReply {
  readonly kind: 'reply';
  readonly id: number;
  readonly ports?: ServerPorts | undefined;
  readonly error?: { readonly code: ErrorCode; readonly message: string } | undefined;
}

/** A client changed what is logged. */
export interface LogSettingsNotice {
  readonly kind: 'log settings';
  readonly settings: LogSettings;
}

/** What the server's thread says. */
export type ControlMessage = ControlReply | LogSettingsNotice;
