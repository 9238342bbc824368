// Declares the spans that callables see. They are OpenTelemetry's own, described here by their shape: the package is an
// optional peer, so no published file may import it, not even its types.

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

/** The identity of a span, which travels between processes. */
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

/** A value that can be recorded as an exception: an error, or its message. */
export type SpanException = { name?: string; message: string; stack?: string; code?: string | number } | string;

/**
 * A span of a traced request or batch. It is an OpenTelemetry `Span`, and fits wherever one is expected. It ends by
 * itself.
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
