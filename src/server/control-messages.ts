// What the user's thread and the server's thread ask of each other, and the answers: calls with numbers, a few in a
// server's life. Requests for inference do not pass here.

import type { MessagePort } from 'node:worker_threads';

import type { LoadParameters } from '../core/inference-server.js';
import type { SentFailure } from '../link/sent-error.js';
import type { LogEntry, LogSettings } from '../logger.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import type { RepositoryModel } from '../model/repository-model.js';
import type { EndedTrace } from '../model/traces.js';
import type { ServerOptions, ServerPorts, StopTimes } from './server-options.js';

/** What the server's thread starts with. */
export interface ServerThreadData {
  readonly options: ServerOptions;
  /** See `OwnerPulse`. */
  readonly beats: Int32Array;
}

export type ControlCall =
  | { readonly kind: 'start' }
  | { readonly kind: 'started' }
  /** `model` stands for it when the server asks for its instances. `again`, where a server before this one had it. */
  | {
      readonly kind: 'load';
      readonly config: CompleteModelConfig;
      readonly model: number;
      readonly again?: LoadedBefore | undefined;
      /** A client asked for it: it is loaded though it may be said that clients do that. */
      readonly now?: boolean;
    }
  /** Models that could not even be bound. */
  | { readonly kind: 'broken'; readonly models: readonly RepositoryModel[] }
  | { readonly kind: 'attach'; readonly opening: number; readonly port: InstancePort }
  | { readonly kind: 'unload'; readonly config: CompleteModelConfig }
  | { readonly kind: 'retired'; readonly config: CompleteModelConfig }
  /** Signals stop the server, with these times, though the user's thread may be blocked when they come. */
  | { readonly kind: 'watch signals'; readonly times: StopTimes }
  | { readonly kind: 'stop'; readonly times: StopTimes };

/** How a model was when its server died. */
export interface LoadedBefore {
  readonly isLoaded: boolean;
  /** What it was loaded with, unless that was what it was bound with. */
  readonly override: CompleteModelConfig | undefined;
}

/** The server's end of an instance. */
export interface InstancePort {
  readonly port: MessagePort;
  /** Of an instance in a thread of its own, which can be ended: its number within the model. */
  readonly thread: number | undefined;
}

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

/** What the server says in its log, where a logger of the user's thread gets it. */
export interface LogNotice {
  readonly kind: 'log';
  readonly entry: LogEntry;
}

/** Traced requests ended without reaching a callable. */
export interface TracesNotice {
  readonly kind: 'traces';
  readonly ended: readonly EndedTrace[];
}

/** The server wants something of the user's thread: a model's instances, for it is loaded now, or their end; or a model itself. `opening` stands for the load. */
export interface HostRequest {
  readonly kind: 'host';
  readonly id: number;
  readonly action:
    | {
        readonly kind: 'open';
        readonly model: number;
        readonly opening: number;
        /** What it is loaded with, unless that is what it was bound with. */
        readonly config: CompleteModelConfig | undefined;
      }
    | { readonly kind: 'close'; readonly opening: number }
    /** Asks for nothing but an answer. */
    | { readonly kind: 'ping' }
    /** A client wants a model of a folder to be loaded; `ready` are the versions that are. */
    | {
        readonly kind: 'load folder';
        readonly name: string;
        readonly parameters: LoadParameters;
        readonly ready: readonly string[];
      };
}

/** The thread of an instance is to be ended, and started again. */
export interface EndInstanceNotice {
  readonly kind: 'end instance';
  readonly opening: number;
  readonly thread: number;
  readonly reason: string;
}

/** A model is ready, or is not any more. */
export interface ReadinessNotice {
  readonly kind: 'readiness';
  readonly model: number;
  readonly isReady: boolean;
}

/** The answer to that; `ports`: one per instance of a model that was opened. */
export interface HostReply {
  readonly kind: 'hosted';
  readonly id: number;
  readonly ports: readonly InstancePort[];
  /** Whether a folder has the model that a client wants. */
  readonly isThere?: boolean;
  readonly error?: SentFailure | undefined;
}

/** What the user's thread says. */
export type UserMessage = ControlRequest | HostReply;

/** What the server's thread says. */
export type ServerMessage =
  ControlReply | LogNotice | LogSettingsNotice | TracesNotice | HostRequest | EndInstanceNotice | ReadinessNotice;
