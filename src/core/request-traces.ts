// Chooses the requests that are traced, and follows them for a trace file or for OpenTelemetry. With OpenTelemetry it only
// reports requests that end without reaching a callable; their spans are made elsewhere. For a request that reaches a
// callable, the callable's thread makes the spans, because it knows the rest of the trace.

import type { TritonError } from '../errors.js';
import type { ModelInferRequest } from '../model/exchange.js';
import {
  type EndedTrace,
  epochNow,
  isInstanceLoss,
  isSampled,
  parseTraceparent,
  type StartedTrace,
  type TraceContext,
  type TracedSequence,
} from '../observability/traces.js';
import { type FileRecord, FileTrace } from './file-trace.js';
import type { RequestTrace } from './scheduler/request-trace.js';
import type { TraceSettingsStore } from './trace-settings.js';

/** Follows a request that gets spans. */
class SpanTrace implements RequestTrace, StartedTrace {
  readonly hosted = this;
  readonly context: TraceContext | undefined;
  readonly startedAt = epochNow();
  readonly #modelName: string;
  readonly #modelVersion: number;
  readonly #requestId: string;
  readonly #sequence: TracedSequence | undefined;
  readonly #report: (ended: EndedTrace) => void;

  constructor(request: ModelInferRequest, { context, modelVersion, report }: TraceSurroundings) {
    this.context = context;
    this.#modelName = request.modelName;
    this.#modelVersion = modelVersion;
    this.#requestId = request.id;
    this.#sequence = request.sequence;
    this.#report = report;
  }

  // The callable's thread makes the spans for these moments, by its own clock.
  queued(): void {}
  executed(): void {}
  responding(): void {}
  responded(): void {}

  answered(hosted: boolean): void {
    if (!hosted) this.#end({ kind: 'cached' });
  }

  refused(error: TritonError): void {
    this.#fail(error, false);
  }

  /** If a callable had the request, its thread reports the failure, unless that thread is gone. */
  failed(error: TritonError, hosted: boolean): void {
    if (!hosted || isInstanceLoss(error)) this.#fail(error, true);
  }

  #fail({ code, message }: TritonError, queued: boolean): void {
    this.#end({ kind: 'failed', queued, code, message });
  }

  #end(outcome: EndedTrace['outcome']): void {
    this.#report({
      context: this.context,
      startedAt: this.startedAt,
      modelName: this.#modelName,
      modelVersion: this.#modelVersion,
      requestId: this.#requestId,
      sequence: this.#sequence,
      endedAt: epochNow(),
      outcome,
    });
  }
}

interface TraceSurroundings {
  readonly context: TraceContext | undefined;
  readonly modelVersion: number;
  readonly report: (ended: EndedTrace) => void;
}

/** Listeners that get the ended requests of one turn of the event loop together. */
export interface TraceListeners {
  /** Traced requests ended without reaching a callable. */
  readonly onEnded: (ended: readonly EndedTrace[]) => void;
  /** Requests ended that belong into the trace file. */
  readonly onRecords: (records: readonly FileRecord[]) => void;
}

export class RequestTraces {
  readonly #settings: TraceSettingsStore;
  readonly #listeners: TraceListeners;
  #ended: EndedTrace[] = [];
  #records: FileRecord[] = [];
  #lastId = 0;
  #immediate: NodeJS.Immediate | undefined;

  constructor(settings: TraceSettingsStore, listeners: TraceListeners) {
    this.#settings = settings;
    this.#listeners = listeners;
  }

  /** The trace of a request; undefined for one that is not traced. */
  begin(request: ModelInferRequest, modelVersion: number): RequestTrace | undefined {
    const { traceContext } = request;
    const parent = traceContext === undefined ? undefined : parseTraceparent(traceContext.traceparent);
    const forced = this.#settings.isFollowing && parent !== undefined && isSampled(parent);
    const settings = this.#settings.sample(request.modelName, forced);
    if (settings === undefined) return undefined;
    if (settings.mode === 'triton') {
      return new FileTrace(request, { id: ++this.#lastId, modelVersion, settings, report: this.#record });
    }
    const context = parent === undefined ? undefined : traceContext;
    return new SpanTrace(request, { context, modelVersion, report: this.#report });
  }

  /** Reports the ended requests at once. */
  flush(): void {
    clearImmediate(this.#immediate);
    this.#immediate = undefined;
    const ended = this.#ended;
    const records = this.#records;
    this.#ended = [];
    this.#records = [];
    if (ended.length > 0) this.#listeners.onEnded(ended);
    if (records.length > 0) this.#listeners.onRecords(records);
  }

  readonly #report = (ended: EndedTrace): void => {
    this.#ended.push(ended);
    this.#flushSoon();
  };

  readonly #record = (record: FileRecord): void => {
    this.#records.push(record);
    this.#flushSoon();
  };

  #flushSoon(): void {
    this.#immediate ??= setImmediate(() => this.flush());
  }
}
