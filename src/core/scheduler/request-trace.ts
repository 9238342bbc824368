// Follows a traced request through the engine, to write it into a trace file or to make spans of it.

import type { TritonError } from '../../errors.js';
import type { InferTensor } from '../../model/exchange.js';
import type { StartedTrace } from '../../observability/traces.js';
import type { ExecutionTimes } from '../instance/model-instance.js';

/** Follows one traced request. The members are called in the order of events. */
export interface RequestTrace {
  /** The trace from which the callable's thread makes spans; undefined where it makes none. */
  readonly hosted: StartedTrace | undefined;
  queued(): void;
  /** Its execution, which began at that moment of the monotonic clock, has ended. */
  executed(begunAt: number, times: ExecutionTimes): void;
  /** A response is about to be handed to the client's side, and was. */
  responding(outputs: readonly InferTensor[]): void;
  responded(): void;
  /** It was turned away before it waited for anything. */
  refused(error: TritonError): void;
  /** It has had all its responses; `hosted`: a callable had it. */
  answered(hosted: boolean): void;
  /** It failed; `hosted`: after a callable had it. */
  failed(error: TritonError, hosted: boolean): void;
}
