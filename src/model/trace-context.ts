// W3C Trace Context: which trace a request belongs to, as its headers say.

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

/** Undefined for what is no trace's parent: such a header counts as none. */
export function parseTraceparent(text: string): Traceparent | undefined {
  const [, version, traceId, spanId, flags, more] = TRACEPARENT.exec(text.trim()) ?? [];
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

/** What the headers or metadata of a request say of its trace; undefined when they say nothing. */
export function readTraceContext(header: (name: string) => string | undefined): TraceContext | undefined {
  const traceparent = header('traceparent');
  return traceparent === undefined ? undefined : { traceparent, tracestate: header('tracestate') };
}
