// Spans as OpenTelemetry's own SDK records them, for tests that are about traces.
import { BroadcastChannel } from 'node:worker_threads';

import { context, propagation, trace, type Span as ApiSpan } from '@opentelemetry/api';
import { NodeTracerProvider, type ReadableSpan, type Sampler, type SpanProcessor } from '@opentelemetry/sdk-trace-node';

/** A span that has ended, as plain data. */
export interface RecordedSpan {
  readonly name: string;
  readonly kind: number;
  readonly traceId: string;
  readonly spanId: string;
  /** Undefined for the root of a trace. */
  readonly parentId: string | undefined;
  readonly traceState: string | undefined;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly status: { readonly code: number; readonly message?: string | undefined };
  /** What was recorded of exceptions, and other events by name. */
  readonly events: readonly string[];
  /** Ids of linked spans. */
  readonly links: readonly string[];
  /** Milliseconds since the epoch. */
  readonly start: number;
  readonly end: number;
}

const milliseconds = ([seconds, nanoseconds]: readonly [number, number]) => seconds * 1e3 + nanoseconds / 1e6;

function plainSpan(span: ReadableSpan): RecordedSpan {
  const { traceId, spanId, traceState } = span.spanContext();
  return {
    name: span.name,
    kind: span.kind,
    traceId,
    spanId,
    parentId: span.parentSpanContext?.spanId,
    traceState: traceState?.serialize(),
    attributes: span.attributes,
    status: span.status,
    events: span.events.map(({ name, attributes }) =>
      name === 'exception'
        ? [attributes?.['exception.type'], attributes?.['exception.message']].map(String).join(': ')
        : name,
    ),
    links: span.links.map((link) => link.context.spanId),
    start: milliseconds(span.startTime),
    end: milliseconds(span.endTime),
  };
}

/** The channel on which threads tell of their spans. */
const SPANS_CHANNEL = 'tstriton-test-spans';

/** Registers a provider for this thread; dispose of it to have none again. */
export class SpanRecorder implements AsyncDisposable {
  readonly #ended: RecordedSpan[] = [];
  #watchers: (() => void)[] = [];
  readonly #provider: NodeTracerProvider;
  /** Spans of other threads. */
  readonly #channel = new BroadcastChannel(SPANS_CHANNEL);

  constructor(options: { readonly sampler?: Sampler } = {}) {
    const processor: SpanProcessor = {
      onStart: () => undefined,
      onEnd: (span) => this.#add(plainSpan(span)),
      forceFlush: () => Promise.resolve(),
      shutdown: () => Promise.resolve(),
    };
    this.#provider = new NodeTracerProvider({ ...options, spanProcessors: [processor] });
    this.#provider.register();
    this.#channel.onmessage = (message: unknown) => this.#add((message as { readonly data: RecordedSpan }).data);
  }

  #add(span: RecordedSpan): void {
    this.#ended.push(span);
    for (const notify of this.#watchers.splice(0)) notify();
  }

  /** The spans that have ended, in that order; waits until there are so many of this name. */
  async ended(count: number, name = 'InferRequest'): Promise<readonly RecordedSpan[]> {
    while (this.named(name).length < count) await new Promise<void>((resolve) => this.#watchers.push(resolve));
    return this.#ended;
  }

  named(name: string): readonly RecordedSpan[] {
    return this.#ended.filter((span) => span.name === name);
  }

  /** The only span of its name. */
  one(name: string): RecordedSpan {
    const spans = this.named(name);
    if (spans.length !== 1) throw new Error(`${spans.length} spans are called ${name}`);
    return spans[0]!;
  }

  /** `triton.request_id` of the requests whose spans have ended, in that order. */
  get requests(): readonly unknown[] {
    return this.named('InferRequest').map(({ attributes }) => attributes['triton.request_id']);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#channel.close();
    await this.#provider.shutdown();
    trace.disable();
    context.disable();
    propagation.disable();
  }
}

/** The id of the span that is active here. */
export function activeSpanId(): string | undefined {
  return trace.getActiveSpan()?.spanContext().spanId;
}

export function tracer(): { startActiveSpan<R>(name: string, fn: (span: ApiSpan) => R): R } {
  return trace.getTracer('test');
}
