// Spans as callables see them. They are OpenTelemetry's own, described here by their shape: the package is an optional
// peer, so that nothing that is published may import it, not even its types.

export type SpanAttributeValue =
  | string
  | number
  | boolean
  | (string | null | undefined)[]
  | (number | null | undefined)[]
  | (boolean | null | undefined)[];

export interface SpanAttributes {
  [name: string]: SpanAttributeValue | undefined;
}

/** A moment: milliseconds since the epoch, a Date, or seconds and nanoseconds. */
export type SpanTime = number | Date | [number, number];

export interface SpanTraceState {
  set(key: string, value: string): SpanTraceState;
  unset(key: string): SpanTraceState;
  get(key: string): string | undefined;
  serialize(): string;
}

/** What identifies a span, and travels. */
export interface SpanContext {
  traceId: string;
  spanId: string;
  isRemote?: boolean;
  /** Bit 0: sampled. */
  traceFlags: number;
  traceState?: SpanTraceState;
}

export interface SpanLink {
  context: SpanContext;
  attributes?: SpanAttributes;
}

/** What can be recorded as an exception: an error, or its message. */
export type SpanException = { name?: string; message: string; stack?: string; code?: string | number } | string;

/**
 * A span of a traced request or batch: OpenTelemetry's `Span`, to which it may be given wherever one is wanted. It
 * ends by itself.
 */
export interface Span {
  spanContext(): SpanContext;
  setAttribute(key: string, value: SpanAttributeValue): this;
  setAttributes(attributes: SpanAttributes): this;
  addEvent(name: string, attributesOrStartTime?: SpanAttributes | SpanTime, startTime?: SpanTime): this;
  addLink(link: SpanLink): this;
  addLinks(links: SpanLink[]): this;
  /** 0: unset, 1: ok, 2: error. */
  setStatus(status: { code: 0 | 1 | 2; message?: string }): this;
  updateName(name: string): this;
  end(endTime?: SpanTime): void;
  /** False for a span that is dropped: the sampler of the provider did not choose it. */
  isRecording(): boolean;
  recordException(exception: SpanException, time?: SpanTime): void;
}
