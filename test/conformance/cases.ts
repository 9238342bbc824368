// The recorded cases as values: what was sent to the real servers and what they answered.
import { readFileSync } from 'node:fs';

export function readCases<T>(file: string): T[] {
  const text = readFileSync(new URL(`./cases/${file}`, import.meta.url), 'utf8');
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as T);
}

/** The case under another name; its members are read when they are asked for, not before. */
export function renamed<Case extends object>(testCase: Case, name: string): Case & { readonly name: string } {
  return Object.create(testCase, { name: { value: name, enumerable: true } }) as Case & { readonly name: string };
}

/** A line of `cases/http`. */
export interface HttpCase {
  readonly name: string;
  readonly model: string | null;
  /** Which recorded server answered; absent for the main one. */
  readonly server?: 'plain' | 'full';
  readonly request: {
    readonly method: string;
    readonly path: string;
    readonly headers: readonly (readonly [string, string])[];
    readonly body?: string;
    readonly body_base64?: string;
  };
  readonly response: {
    readonly status?: number;
    readonly reason?: string;
    readonly headers?: readonly (readonly [string, string])[];
    readonly body?: string;
    readonly body_base64?: string;
    /** Sizes of the chunks of an answer in chunks. */
    readonly chunks?: readonly number[];
    readonly closed?: true;
    readonly timeout?: true;
  };
  /** Regular expressions over parts of the body that two recordings did not share. */
  readonly varies?: readonly string[];
}

/** A line of `cases/grpc`. */
export interface GrpcCase {
  readonly name: string;
  readonly method: string;
  readonly metadata: readonly (readonly [string, string])[];
  /** A list for streams. */
  readonly request_base64: string | readonly string[] | null;
  readonly request: unknown;
  /** Of streams: what the client did, in order. */
  readonly steps?: readonly string[] | null;
  /** In words, where the request is too long to keep. */
  readonly request_rule?: string;
  readonly request_bytes?: number;
  readonly response: {
    readonly status_code: number;
    readonly status_name: string;
    readonly message: string;
    readonly initial_metadata: readonly (readonly [string, string])[];
    readonly trailing_metadata: readonly (readonly [string, string])[];
    /** A list for streams. */
    readonly body_base64: string | readonly string[] | null;
    readonly body: unknown;
    readonly body_bytes?: number;
  };
  readonly note: string;
  /** Members that two recordings did not share. */
  readonly varies: readonly string[];
}

export interface BoundTensor {
  readonly name?: string;
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly optional?: boolean;
}

/** A line of `cases/pytriton/model-config.jsonl`. */
export interface BindCase {
  readonly bind: {
    readonly model_name: string;
    readonly model_version?: number;
    readonly strict?: boolean;
    readonly callables?: number;
    readonly inputs: readonly BoundTensor[];
    readonly outputs: readonly BoundTensor[];
    readonly config?: Readonly<Record<string, unknown>>;
  };
  readonly config_status: number;
  readonly config: Readonly<Record<string, unknown>>;
  readonly metadata_status: number;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly error?: { readonly raised_by: string; readonly type: string; readonly message: string };
}

/** One request of a scenario. */
export interface Arrival {
  readonly at_ms: number;
  readonly id: string;
  readonly rows: number;
  /** How long an execution with this request lasts at least. */
  readonly run_ms: number;
  readonly via: 'grpc' | 'http' | 'stream';
  readonly priority?: number;
  readonly timeout_us?: number;
  /** Of a row; 2 when absent. */
  readonly length?: number;
  /** Requests with the same number have the same bytes. */
  readonly data?: number;
  readonly fails?: true;
  readonly optional_input?: true;
  readonly custom_parameter?: string;
}

export interface SchedulerEvent {
  readonly at_ms: number;
  readonly cancel?: string;
  readonly cancel_stream?: true;
  readonly pending?: true;
  readonly unload?: true;
  readonly load?: true;
  readonly index?: true;
  readonly ready?: true;
  readonly sigterm?: true;
}

export interface QueuePolicyJson {
  readonly timeout_action?: 'REJECT' | 'DELAY';
  readonly default_timeout_microseconds?: number;
  readonly allow_timeout_override?: boolean;
  readonly max_queue_size?: number;
}

/** What came of a scenario; times are rounded to 10 ms. */
export interface RecordedOutcome {
  readonly load?: string;
  readonly executions?: readonly {
    readonly start_ms: number;
    readonly end_ms: number;
    readonly batch: readonly (readonly [id: string, rows: number])[];
    readonly cancelled_at_end?: readonly string[];
    /** Where there are several. */
    readonly instance?: number;
  }[];
  readonly answers?: Readonly<
    Record<
      string,
      {
        readonly answer: string | number;
        readonly text?: string;
        readonly shape?: readonly number[];
        readonly at_ms: number;
      }
    >
  >;
  readonly stream?: readonly {
    readonly id?: string;
    readonly error?: string;
    readonly stream_ended?: string;
    readonly at_ms: number;
  }[];
  readonly probes?: readonly { readonly nv_inference_pending_request_count: number }[];
  readonly notes?: readonly Readonly<Record<string, unknown>>[];
  readonly statistics?: Readonly<Record<string, number>>;
  readonly durations_ms?: Readonly<Record<'success' | 'fail' | 'queue' | 'compute_infer', number>>;
  /** Differences; those that are 0 are left out. */
  readonly metrics?: Readonly<Record<string, number>>;
  /** Why a model was refused. */
  readonly server_log?: string;
  /** How long requests were left waiting beside an idle instance. */
  readonly idle_while_waiting_ms?: number;
  readonly times_seen?: number;
}

/** A line of `cases/scheduler`. */
export interface SchedulerCase {
  readonly name: string;
  readonly config: {
    readonly max_batch_size: number;
    readonly instances?: number;
    readonly dims?: readonly number[];
    readonly ragged?: true;
    readonly optional?: true;
    readonly decoupled?: true;
    readonly response_cache?: true;
    readonly dynamic_batching?: {
      readonly preferred_batch_size?: readonly number[];
      readonly max_queue_delay_microseconds?: number;
      readonly preserve_ordering?: boolean;
      readonly priority_levels?: number;
      readonly default_priority_level?: number;
      readonly default_queue_policy?: QueuePolicyJson;
      readonly priority_queue_policy?: Readonly<Record<string, QueuePolicyJson>>;
    };
  };
  readonly arrivals: readonly Arrival[];
  readonly events?: readonly SchedulerEvent[];
  readonly server_args?: readonly string[];
  /** The same in every run. */
  readonly seen?: RecordedOutcome;
  /** Outcomes that differed from run to run. */
  readonly seen_varies?: readonly RecordedOutcome[];
}
