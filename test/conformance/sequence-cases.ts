// The recorded scenarios of Triton's sequence batcher, and what came of them in a form that ours is compared with.

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export interface SequenceArrival {
  readonly at_ms: number;
  readonly id: string;
  readonly seq?: number | bigint | string;
  readonly start?: boolean;
  readonly end?: boolean;
  readonly run_ms: number;
  /** `grpc`, `http`, or the name of a stream. */
  readonly via: string;
  readonly x?: number;
  readonly length?: number;
  readonly rows?: number;
  readonly timeout_us?: number;
  readonly priority?: number;
  readonly fails?: boolean;
  readonly raise?: boolean;
  readonly answers?: number;
  readonly late_ms?: number;
  readonly steps?: number;
}

export interface SequenceEvent {
  readonly at_ms: number;
  readonly cancel?: string;
  readonly cancel_stream?: string;
  readonly pending?: boolean;
  readonly unload?: boolean;
  readonly load?: SequenceModel;
  readonly index?: boolean;
  readonly ready?: boolean;
  readonly sigterm?: boolean;
}

export interface SequenceModel {
  readonly max_batch_size: number;
  readonly sequence_batching?: Readonly<Record<string, unknown>>;
  readonly dynamic_batching?: object;
  readonly instances?: number;
  readonly model_transaction_policy?: { readonly decoupled: boolean };
  readonly input?: readonly {
    readonly name: string;
    readonly dims: readonly number[];
    readonly allow_ragged_batch?: boolean;
  }[];
  readonly backend?: string;
}

/** A row: null for an empty slot, a tuple, or all tensors of a detailed scenario. */
type RecordedRow = null | readonly [string, string | null, unknown, object?] | DetailedRow;

interface DetailedRow {
  readonly id: string | null;
  readonly flags: number;
  readonly correlation_id: unknown;
  /** The tensors of the controls, where the model has them. */
  readonly START?: unknown;
  readonly END?: unknown;
  readonly READY?: unknown;
}

export interface RecordedSequences {
  readonly executions?: readonly {
    readonly batch: readonly RecordedRow[];
    readonly start_ms: number;
    readonly end_ms: number;
    readonly instance?: number;
    readonly cancelled_at_end?: readonly string[];
  }[];
  readonly answers?: Readonly<Record<string, RecordedAnswer>>;
  readonly streams?: Readonly<Record<string, readonly (RecordedAnswer & { readonly id: string | null })[]>>;
  readonly probes?: readonly { readonly nv_inference_pending_request_count: number }[];
  readonly notes?: readonly Readonly<Record<string, unknown>>[];
  readonly server_log?: readonly string[];
  readonly statistics?: Readonly<Record<string, number>>;
  readonly metrics?: Readonly<Record<string, number>>;
}

interface RecordedAnswer {
  readonly answer: string | number;
  readonly text?: string;
  readonly y?: number | readonly number[] | null;
  readonly at_ms: number;
}

export interface SequenceCase {
  readonly name: string;
  readonly config: SequenceModel;
  readonly arrivals: readonly SequenceArrival[];
  readonly events?: readonly SequenceEvent[];
  readonly seen?: RecordedSequences;
  readonly seen_varies?: readonly RecordedSequences[];
}

/** What happened. Moments are milliseconds from the first arrival. */
export interface SequenceOutcome {
  /** `a1 SR 1 | - | b1 R 2 on 1`: in the order in which they began. */
  readonly executions: readonly { readonly batch: string; readonly start: number; readonly end: number }[];
  readonly answers: Readonly<Record<string, { readonly text: string; readonly at: number }>>;
  readonly streams: Readonly<Record<string, readonly string[]>>;
  readonly probes: readonly string[];
  readonly warnings: readonly string[];
  /** Undefined where the server had ended before it was asked. */
  readonly counts: Readonly<Record<string, number>> | undefined;
}

/** The lines of a file of recordings. Numbers beyond 2^53 are bigints. */
export function readSequences<T>(file: string): T[] {
  const path = fileURLToPath(new URL(`cases/sequences/${file}.jsonl`, import.meta.url));
  // Requests in JSON, which are texts of the recordings, stay as they are.
  const exact = (line: string) =>
    file === 'wire' ? line : line.replace(/([[:,] )(-?\d{16,})(?=[,\]}])/g, '$1"bigint:$2"');
  const revive = (_: string, value: unknown) =>
    typeof value === 'string' && value.startsWith('bigint:') ? BigInt(value.slice(7)) : value;
  const lines = readFileSync(path, 'utf8').split('\n');
  return lines.filter((line) => line !== '').map((line) => JSON.parse(exact(line), revive) as T);
}

/** `all` stands for the four controls. */
export function expanded({ sequence_batching: batching }: SequenceModel): Record<string, never> {
  const flag = (name: string) => ({ name, control: [{ kind: `CONTROL_SEQUENCE_${name}`, int32_false_true: [0, 1] }] });
  const id = { name: 'CORRID', control: [{ kind: 'CONTROL_SEQUENCE_CORRID', data_type: 'TYPE_UINT64' }] };
  const all = [...['START', 'END', 'READY'].map(flag), id];
  return { ...batching, ...(batching!['control_input'] === 'all' && { control_input: all }) } as Record<string, never>;
}

const COUNTED = /^(inference_count|execution_count|success_count|queue_count|fail_count|batch_size_\d+)$/;
const OUTCOMES: Readonly<Record<string, string>> = {
  400: 'INVALID_ARG',
  501: 'UNSUPPORTED',
  503: 'UNAVAILABLE',
  INVALID_ARGUMENT: 'INVALID_ARG',
  UNIMPLEMENTED: 'UNSUPPORTED',
  'cancelled by the client': 'cancelled',
  'connection closed': 'cancelled',
  'stream error': 'error',
};

export function recordedOutcome(seen: RecordedSequences, { name }: SequenceCase): SequenceOutcome {
  const counts = Object.fromEntries(Object.entries(seen.statistics ?? {}).filter(([count]) => COUNTED.test(count)));
  for (const [metric, value] of Object.entries(seen.metrics ?? {})) {
    const reason = /^nv_inference_request_failure:(\w+)$/.exec(metric)?.[1];
    if (reason !== undefined) counts[`failed ${reason}`] = value;
  }
  return {
    executions: (seen.executions ?? []).map(
      ({ batch, start_ms: start, end_ms: end, instance, cancelled_at_end: gone }) => ({
        batch: [
          // The counts tell of empty slots at the end, which the engine does not send.
          batch
            .map(rowText)
            .join(' | ')
            .replace(/( \| -)+$/, ''),
          instance === undefined ? '' : ` on ${instance}`,
          gone === undefined ? '' : ` cancelled ${gone.join()}`,
        ].join(''),
        start,
        end,
      }),
    ),
    answers: Object.fromEntries(
      Object.entries(seen.answers ?? {}).map(([id, answer]) => [
        id,
        { text: answerText(answer, name), at: answer.at_ms },
      ]),
    ),
    streams: Object.fromEntries(
      Object.entries(seen.streams ?? {}).map(([stream, messages]) => [
        stream,
        // A client that has cancelled its stream hears of that from itself.
        messages.filter(({ id }) => id !== null).map((message) => `${message.id} ${answerText(message, name)}`),
      ]),
    ),
    probes: [
      ...(seen.probes ?? []).map((probe) => `pending ${probe.nv_inference_pending_request_count}`),
      ...(seen.notes ?? []).flatMap((note) =>
        'index' in note ? [`index ${String(note['index'])} ${String(note['reason'])}`.trimEnd()] : [],
      ),
    ],
    warnings: (seen.server_log ?? []).filter((line) => line.includes('conflict')),
    counts: seen.statistics === undefined ? undefined : counts,
  };
}

function rowText(row: RecordedRow): string {
  if (row === null) return '-';
  if (Array.isArray(row)) {
    const [id, flags, corrid] = row as readonly [string, string | null, unknown];
    return `${id} ${flags ?? ''} ${String(corrid)}`;
  }
  const { id, flags, correlation_id: corrid } = row as DetailedRow;
  if (id === null) return '-';
  const shown = (name: 'START' | 'END' | 'READY') => (name in row ? name[0] : '');
  const set = [flags & 1 ? shown('START') : '', flags & 2 ? shown('END') : '', shown('READY')];
  return `${id} ${set.join('')} ${String(corrid)}`;
}

function answerText({ answer, text, y }: RecordedAnswer, _name: string): string {
  if (answer === 'ok') return `ok ${y === undefined || y === null ? '' : JSON.stringify(y)}`.trimEnd();
  const outcome = OUTCOMES[answer] ?? String(answer);
  return text === undefined || text === '' ? outcome : `${outcome} ${text}`;
}
