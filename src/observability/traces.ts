// Describes traces as plain data. It has the trace of a request (W3C Trace Context), the settings (the trace
// extension), and the messages from the engine to the thread that makes the spans.

import { trimBlanks } from '../ascii.js';
import { type ErrorCode, TritonError } from '../errors.js';

/** The headers of a request that is part of a trace. */
export interface TraceContext {
  readonly traceparent: string;
  readonly tracestate?: string | undefined;
}

export interface Traceparent {
  readonly traceId: string;
  readonly spanId: string;
  readonly flags: number;
}

// Later versions may add members behind the flags; version 00 has none.
const TRACEPARENT = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** Undefined for a malformed header, which counts as none. */
export function parseTraceparent(text: string): Traceparent | undefined {
  const [, version, traceId, spanId, flags, more] = TRACEPARENT.exec(trimBlanks(text)) ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  if (version === '00' && more !== undefined) return undefined;
  return { traceId, spanId, flags: Number.parseInt(flags, 16) };
}

/** Whether the caller's own part of the trace is kept. */
export function isSampled({ flags }: Traceparent): boolean {
  return (flags & 1) === 1;
}

/** As a header. */
export function traceparentText({ traceId, spanId, flags }: Traceparent): string {
  return `00-${traceId}-${spanId}-${flags.toString(16).padStart(2, '0')}`;
}

/** A request's trace context from its headers or metadata; undefined without one. */
export function readTraceContext(header: (name: string) => string | undefined): TraceContext | undefined {
  const traceparent = header('traceparent');
  return traceparent === undefined ? undefined : { traceparent, tracestate: header('tracestate') };
}

export const TRACE_LEVELS = ['OFF', 'TIMESTAMPS', 'TENSORS'] as const;

export type TraceLevel = (typeof TRACE_LEVELS)[number];

/** Trace files, or OpenTelemetry. Fixed when the server starts. */
export type TraceMode = 'triton' | 'opentelemetry';

export interface TraceSettings {
  readonly mode: TraceMode;
  /** The trace file; '' for none. Fixed when the server starts. */
  readonly file: string;
  readonly level: readonly TraceLevel[];
  /** One of this many requests is traced. */
  readonly rate: number;
  /** The number of requests still to be traced; -1 for no limit. */
  readonly count: number;
  /** The number of traces in a file, which then has its number behind its name; 0 for all in one file. */
  readonly logFrequency: number;
}

/** The settings at the start of a server that traces. */
export type TraceStart = TraceSettings;

/** Changes to settings: a value sets, null returns to the inherited value, and an absent member stays. */
export type TraceUpdate = {
  readonly [Setting in Exclude<keyof TraceSettings, 'mode' | 'file'>]?: TraceSettings[Setting] | null;
};

/** When a client's request came in, on the monotonic clock. */
export interface Receipt {
  readonly protocol: 'HTTP' | 'GRPC';
  readonly startedAt: number;
  /** When the request was decoded. */
  readonly endedAt: number;
}

/** A traced request on its way to a callable, whose thread makes its spans. */
export interface StartedTrace {
  /** The caller's; undefined for a trace that begins here. */
  readonly context: TraceContext | undefined;
  /** When the request arrived, in milliseconds since the epoch. */
  readonly startedAt: number;
}

/** What a traced request says of its sequence. */
export interface TracedSequence {
  readonly id: number | bigint | string;
  readonly start: boolean;
  readonly end: boolean;
}

/** A traced request that ended without a callable. Its spans are made at its end. */
export interface EndedTrace extends StartedTrace {
  readonly modelName: string;
  readonly modelVersion: number;
  readonly requestId: string;
  /** Undefined for a request that is of no sequence. */
  readonly sequence?: TracedSequence | undefined;
  readonly endedAt: number;
  /** Why it did not reach a callable. */
  readonly outcome:
    | { readonly kind: 'cached' }
    | { readonly kind: 'failed'; readonly queued: boolean; readonly code: ErrorCode; readonly message: string };
}

/** The traces of a batch. */
export interface BatchTraces {
  /** When the batch was sent, in milliseconds since the epoch. */
  readonly dispatchedAt: number;
  /** By the requests' places; undefined for untraced requests. */
  readonly requests: readonly (StartedTrace | undefined)[];
}

// Marks the errors of requests whose callable is gone with its whole thread. The mark says that the thread has made no
// spans of them.

const LOSSES = new WeakSet<TritonError>();

export function instanceLoss(message: string): TritonError {
  const error = new TritonError('UNAVAILABLE', message);
  LOSSES.add(error);
  return error;
}

export function isInstanceLoss(error: TritonError): boolean {
  return LOSSES.has(error);
}

// Spans are timed by the wall clock with fractions of a millisecond, the same in all threads of a process. The
// monotonic clock gives the fractions. When the wall clock was set meanwhile, the wall clock counts.

/** Milliseconds since the epoch. */
export function epochNow(): number {
  const precise = performance.timeOrigin + performance.now();
  const wall = Date.now();
  // Date.now() has lost its fraction.
  return precise > wall - TOLERANCE && precise < wall + 1 + TOLERANCE ? precise : wall;
}

const TOLERANCE = 1;
