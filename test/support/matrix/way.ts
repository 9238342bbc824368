// A way of asking: a client, a wire and a form of the request. Each has links, which are replaced now and then.
import type { RunningServer } from '../start-server.js';
import { HEADER, type Limits, type Question } from './question.js';

/** What came for a question: the tensors of one answer. */
export interface ReceivedAnswer {
  /** Where the client shows it. */
  readonly id?: string;
  readonly y: Uint8Array;
  readonly said: readonly string[];
}

export interface Link {
  /** Rejects when there is no answer; the signal gives the question up. */
  ask(question: Question, signal: AbortSignal): Promise<readonly ReceivedAnswer[]>;
  /** Ends all that is under way. */
  close(): Promise<void> | void;
}

export interface Way {
  readonly limits: Limits;
  /** How often it is taken. */
  readonly weight: number;
  /** Whoever gives up takes others along, who share its connection: few do. */
  readonly isShared?: boolean;
  /** Gives nothing up, and closes no link with questions under way. */
  readonly isPatient?: boolean;
  /** Asks a server that runs in its own thread. */
  readonly isLocal?: boolean;
  /** What the callable finds among the parameters beside those of the question. */
  readonly adds: (question: Question) => Readonly<Record<string, string>>;
  /** `violated` takes what no answer of a question can tell. */
  open(server: RunningServer, violated: (what: string) => void): Link;
}

/** Of ways whose requests have headers of their own. */
export const forwarded: Way['adds'] = ({ header }) => ({ [HEADER]: header });

/** The fetch of Node 20 and 22 may keep its socket after an abort in the middle of a compressed answer. */
export const FETCH_KEEPS_ABORTED_SOCKETS = Number.parseInt(process.versions['undici'] ?? '', 10) < 7;

/** Triton forwards no headers of generate requests, and their id is a parameter too. */
export const generated: Way['adds'] = ({ id }) => ({ id });

/** A question that its client had to give up beside another one, as they shared a connection. */
export class GivenUp extends Error {}

export const ALL_MODELS = {
  Whole: 3,
  Delayed: 3,
  Threads: 3,
  Rows: 3,
  Echo: 3,
  Cached: 2,
  Stream: 2,
  Calls: 1,
} as const;
export const ANSWERED_ONCE = { ...ALL_MODELS, Stream: 0 } as const;
