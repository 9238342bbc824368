// The settings of the trace extension as plain data: what the core keeps and both protocols carry.

export const TRACE_LEVELS = ['OFF', 'TIMESTAMPS', 'TENSORS'] as const;

export type TraceLevel = (typeof TRACE_LEVELS)[number];

export interface TraceSettings {
  readonly level: readonly TraceLevel[];
  /** Every how many requests one is traced. */
  readonly rate: number;
  /** How many requests are still to be traced; -1 for no limit. */
  readonly count: number;
  /** After how many traces a file is written; 0 for at the end. */
  readonly logFrequency: number;
}

/** What to change: a value sets, null goes back to what is inherited, and what is absent stays. */
export type TraceUpdate = { readonly [Setting in keyof TraceSettings]?: TraceSettings[Setting] | null };
