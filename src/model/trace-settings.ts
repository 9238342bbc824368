// The settings of the trace extension as plain data: what the core keeps and both protocols carry.

export const TRACE_LEVELS = ['OFF', 'TIMESTAMPS', 'TENSORS'] as const;

export type TraceLevel = (typeof TRACE_LEVELS)[number];

/** Trace files, of which none is ever written, or OpenTelemetry. Fixed when the server starts. */
export type TraceMode = 'triton' | 'opentelemetry';

export interface TraceSettings {
  readonly mode: TraceMode;
  readonly level: readonly TraceLevel[];
  /** Every how many requests one is traced. */
  readonly rate: number;
  /** How many requests are still to be traced; -1 for no limit. */
  readonly count: number;
  /** After how many traces a file is written; 0 for at the end. */
  readonly logFrequency: number;
}

/** What a server that traces begins with. */
export type TraceStart = Pick<TraceSettings, 'level' | 'rate' | 'count'>;

/** What to change: a value sets, null goes back to what is inherited, and what is absent stays. */
export type TraceUpdate = {
  readonly [Setting in Exclude<keyof TraceSettings, 'mode'>]?: TraceSettings[Setting] | null;
};
