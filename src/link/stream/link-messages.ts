// What the two ends of a link say to each other beside the messages of instances: these go in channel 0. The other process
// binds models and opens their instances as the server asks; each instance has a channel.

import type { SentFailure } from '../sent-error.js';
import type { DeclaredModel } from './declared-model.js';

/** Changes with each change of the messages that the other end would not understand. */
export const LINK_PROTOCOL = 2;
/** The methods of the server's gRPC port: a link, and the connection of a callable's own for one channel of a link. */
export const LINK_METHOD = '/tstriton.Link/Serve';
export const DIRECT_METHOD = '/tstriton.Link/Channel';
/** The header that carries the access token. */
export const LINK_TOKEN_HEADER = 'tstriton-remote-access-token';
/** The header of {@link DIRECT_METHOD}: the link's key, a slash, and the channel's number. */
export const LINK_CHANNEL_HEADER = 'tstriton-link-channel';
export const CONTROL_CHANNEL = 0;

/** The instance behind a channel. */
export interface LinkedInstance {
  readonly channel: number;
  /** Whether it has a thread of its own, which can be ended. */
  readonly hasThread: boolean;
}

/** To the server. The process numbers models and channels, the server numbers openings. */
export type BinderMessage =
  | { readonly kind: 'hello'; readonly protocol: number; readonly version: string }
  /** Asks for `pong`, so that the link is never idle. */
  | { readonly kind: 'ping' }
  | { readonly kind: 'bind'; readonly model: number; readonly declared: DeclaredModel; readonly instances: number }
  /** The model gets no more requests from here; answered with `unbound` when its last has ended. */
  | { readonly kind: 'unbind'; readonly model: number }
  /** Answers `open`. */
  | {
      readonly kind: 'opened';
      readonly opening: number;
      readonly instances?: readonly LinkedInstance[] | undefined;
      readonly error?: SentFailure | undefined;
    }
  /** A thread was started again. */
  | { readonly kind: 'attached'; readonly opening: number; readonly instance: LinkedInstance }
  /** An instance has ended. */
  | { readonly kind: 'ended'; readonly channel: number };

/** To the process. */
export type ServerMessage =
  | {
      readonly kind: 'welcome';
      readonly protocol: number;
      readonly version: string;
      /** A larger message ends the link. */
      readonly maxMessageBytes: number;
      /** Of this link, for the connections of callables. */
      readonly key: string;
    }
  | { readonly kind: 'pong' }
  /** Answers `bind`: the model is served, or refused. */
  | { readonly kind: 'bound'; readonly model: number; readonly error?: SentFailure | undefined }
  | { readonly kind: 'unbound'; readonly model: number }
  | { readonly kind: 'open'; readonly model: number; readonly opening: number }
  | { readonly kind: 'close'; readonly opening: number }
  /** Ends the thread of an instance. */
  | { readonly kind: 'end'; readonly channel: number; readonly reason: string }
  | { readonly kind: 'readiness'; readonly model: number; readonly isReady: boolean };
