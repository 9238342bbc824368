// What the user's thread and the server's thread ask of each other, and the answers: calls with numbers, a few in a
// server's life. Requests for inference do not pass here.

import type { MessagePort } from 'node:worker_threads';

import type { SentFailure } from '../link/sent-error.js';
import type { LogSettings } from '../logger.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import type { EndedTrace } from '../model/trace-record.js';
import type { ServerPorts } from './server.js';

export type ControlCall =
  | { readonly kind: 'start' }
  | { readonly kind: 'started' }
  /** `model` stands for it when the server asks for its instances. */
  | { readonly kind: 'load'; readonly config: CompleteModelConfig; readonly model: number }
  | { readonly kind: 'attach'; readonly model: number; readonly port: MessagePort }
  | { readonly kind: 'unload'; readonly config: CompleteModelConfig }
  | { readonly kind: 'stop'; readonly timeoutSecs: number | undefined };

/** A call on its way. */
export interface ControlRequest {
  readonly kind: 'call';
  readonly id: number;
  readonly call: ControlCall;
}

/** Its answer: `start` answers the ports. */
export interface ControlReply {
  readonly kind: 'reply';
  readonly id: number;
  readonly ports?: ServerPorts | undefined;
  readonly error?: SentFailure | undefined;
}

/** A client changed what is logged. */
export interface LogSettingsNotice {
  readonly kind: 'log settings';
  readonly settings: LogSettings;
}

/** Traced requests ended without reaching a callable. */
export interface TracesNotice {
  readonly kind: 'traces';
  readonly ended: readonly EndedTrace[];
}

/** The server wants a model's instances, for it is loaded now, or needs them no more. */
export interface HostRequest {
  readonly kind: 'host';
  readonly id: number;
  readonly action: 'open' | 'close';
  readonly model: number;
}

/** The answer to that: a port per instance of a model that was opened. */
export interface HostReply {
  readonly kind: 'hosted';
  readonly id: number;
  readonly ports: readonly MessagePort[];
  readonly error?: SentFailure | undefined;
}

/** What the user's thread says. */
export type UserMessage = ControlRequest | HostReply;

/** What the server's thread says. */
export type ServerMessage = ControlReply | LogSettingsNotice | TracesNotice | HostRequest;
