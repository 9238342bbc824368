// Declares the calls between the user's thread and the server's thread, and their answers. Calls have numbers, and a
// server makes only a few in its life. Requests for inference take another way.

import type { MessagePort } from 'node:worker_threads';

import type { ClientTlsOptions } from '../client/client-options.js';
import type { LoadParameters } from '../core/client-loads.js';
import type { SentFailure } from '../link/sent-error.js';
import type { LogEntry, LogSettings } from '../logger.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import type { RepositoryModel } from '../model/repository-model.js';
import type { EndedTrace } from '../observability/traces.js';
import type { ServerOptions, ServerPorts, StopTimes } from './server-options.js';

/** The start data of the server's thread. */
export interface ServerThreadData {
  readonly options: ServerOptions;
  /** See `OwnerPulse`. */
  readonly beats: Int32Array;
}

export type ControlCall =
  | { readonly kind: 'start' }
  | { readonly kind: 'started' }
  /**
   * `model` is the number by which the server asks for its instances. `again` is set where a server before this one had
   * the model.
   */
  | {
      readonly kind: 'load';
      readonly config: CompleteModelConfig;
      readonly model: number;
      readonly again?: LoadedBefore | undefined;
      /** A client asked for the load: the model is loaded even in explicit mode. */
      readonly now?: boolean;
    }
  /** Ends the load of that number, if it is under way. */
  | { readonly kind: 'end load'; readonly model: number }
  /** Models that could not be bound. */
  | { readonly kind: 'broken'; readonly models: readonly RepositoryModel[] }
  | { readonly kind: 'attach'; readonly opening: number; readonly port: InstancePort }
  | { readonly kind: 'unload'; readonly config: CompleteModelConfig }
  | { readonly kind: 'retired'; readonly config: CompleteModelConfig }
  /** Signals stop the server, with these times, though the user's thread may be blocked when they come. */
  | { readonly kind: 'watch signals'; readonly times: StopTimes }
  | { readonly kind: 'stop'; readonly times: StopTimes };

/** The state of a model when its server died. */
export interface LoadedBefore {
  readonly isLoaded: boolean;
  /** The configuration of the load; undefined for the bound one. */
  readonly override: CompleteModelConfig | undefined;
}

/** The server's end of an instance. */
export interface InstancePort {
  readonly port: MessagePort;
  /** The number within the model of an instance in a thread of its own. Such a thread can be ended. */
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

/** A client changed the log settings. */
export interface LogSettingsNotice {
  readonly kind: 'log settings';
  readonly settings: LogSettings;
}

/** An entry of the log: of the server's thread for a logger in the user's, or of the user's thread for the page. */
export interface LogNotice {
  readonly kind: 'log';
  readonly entry: LogEntry;
}

/** Traced requests ended without reaching a callable. */
export interface TracesNotice {
  readonly kind: 'traces';
  readonly ended: readonly EndedTrace[];
}

/**
 * A request of the server to the user's thread: to open a model's instances for a load, to close them, or to load a
 * model. `opening` is the number of the load.
 */
export interface HostRequest {
  readonly kind: 'host';
  readonly id: number;
  readonly action:
    | {
        readonly kind: 'open';
        readonly model: number;
        readonly opening: number;
        /** The configuration of this load; undefined for the bound one. */
        readonly config: CompleteModelConfig | undefined;
      }
    /** The opening may not be open yet. */
    | { readonly kind: 'close'; readonly opening: number }
    /** Asks for nothing but an answer. */
    | { readonly kind: 'ping' }
    /** Of the thread of a link, before each connection. */
    | { readonly kind: 'link tls' }
    /** A client wants to load a model of a folder; `ready` lists the ready versions. */
    | {
        readonly kind: 'load folder';
        readonly name: string;
        readonly parameters: LoadParameters;
        readonly ready: readonly string[];
      };
}

/** Asks for the end and the restart of an instance's thread. */
export interface EndInstanceNotice {
  readonly kind: 'end instance';
  readonly opening: number;
  readonly thread: number;
  readonly reason: string;
}

/** A model has become ready, or has stopped being ready. */
export interface ReadinessNotice {
  readonly kind: 'readiness';
  readonly model: number;
  readonly isReady: boolean;
}

/** The link to another process's server was lost, or is there again. */
export interface LinkNotice {
  readonly kind: 'link';
  readonly isThere: boolean;
  /** Why it was lost. */
  readonly error?: SentFailure | undefined;
}

/** The answer to a `HostRequest`; `ports` has one port per instance of an opened model. */
export interface HostReply {
  readonly kind: 'hosted';
  readonly id: number;
  readonly ports: readonly InstancePort[];
  /** Whether a folder has the model that a client wants. */
  readonly isThere?: boolean;
  /** The certificates of the link's next connection. */
  readonly tls?: ClientTlsOptions | undefined;
  readonly error?: SentFailure | undefined;
}

/** A message of the user's thread. */
export type UserMessage = ControlRequest | HostReply | LogNotice;

/** A message of the server's thread. */
export type ServerMessage =
  | ControlReply
  | LogNotice
  | LogSettingsNotice
  | TracesNotice
  | HostRequest
  | EndInstanceNotice
  | ReadinessNotice
  | LinkNotice;
