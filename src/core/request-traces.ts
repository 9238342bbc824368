// Chooses the requests that are traced, and tells of those that end without reaching a callable. The spans are made
// elsewhere: those of a request that reaches one by the callable's thread, which knows the rest of the trace.

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
} from '../model/traces.js';
import type { TraceSettingsStore } from './trace-settings.js';

/** The trace of one request. */
export class RequestTrace implements StartedTrace {
  readonly context: TraceContext | undefined;
  readonly startedAt = epochNow();
  readonly #modelName: string;
  readonly #modelVersion: number;
  readonly #requestId: string;
  readonly #report: (ended: EndedTrace) => void;

  constructor(request: ModelInferRequest, { context, modelVersion, report }: TraceSurroundings) {
    this.context = context;
    this.#modelName = request.modelName;
    this.#modelVersion = modelVersion;
    this.#requestId = request.id;
    this.#report = report;
  }

  /** It was answered without an execution of its own. */
  answered(): void {
    this.#end({ kind: 'cached' });
  }

  /** It was turned away before it waited for anything. */
  refused(error: TritonError): void {
    this.#fail(error, false);
  }

  /** It failed; `hosted`: after a callable's thread had it, which then tells of it unless it is gone. */
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

export class RequestTraces {
  readonly #settings: TraceSettingsStore;
  readonly #onEnded: (ended: readonly EndedTrace[]) => void;
  #ended: EndedTrace[] = [];
  #immediate: NodeJS.Immediate | undefined;

  /** `onEnded` gets what one turn of the event loop brought together. */
  constructor(settings: TraceSettingsStore, onEnded: (ended: readonly EndedTrace[]) => void) {
    this.#settings = settings;
    this.#onEnded = onEnded;
  }

  /** The trace of a request; undefined for one that is not traced. */
  begin(request: ModelInferRequest, modelVersion: number): RequestTrace | undefined {
    const { traceContext } = request;
    const parent = traceContext === undefined ? undefined : parseTraceparent(traceContext.traceparent);
    const forced = parent !== undefined && isSampled(parent);
    if (!this.#settings.sample(request.modelName, forced)) return undefined;
    const context = parent === undefined ? undefined : traceContext;
    return new RequestTrace(request, { context, modelVersion, report: this.#report });
  }

  /** Tells at once what there is to tell. */
  flush(): void {
    clearImmediate(this.#immediate);
    this.#immediate = undefined;
    const ended = this.#ended;
    this.#ended = [];
    if (ended.length > 0) this.#onEnded(ended);
  }

  readonly #report = (ended: EndedTrace): void => {
    this.#ended.push(ended);
    this.#immediate ??= setImmediate(() => this.flush());
  };
}
