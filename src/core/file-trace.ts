// One request's part of a trace file: what happened to it and when, in the entries and by the names that Triton writes
// (server/src/tracer.cc; docs/user_guide/trace.md). Times are nanoseconds of the monotonic clock, as Triton's are.

import type { InferTensor, ModelInferRequest } from '../model/exchange.js';
import type { TraceSettings } from '../observability/traces.js';
import { elementTexts } from '../tensor/element-texts.js';
import type { ExecutionTimes } from './instance/model-instance.js';
import type { RequestTrace } from './scheduler/request-trace.js';

/** One entry of the trace file, in its written form. */
export type TraceEntry = Readonly<Record<string, unknown>>;

/** A request that has ended, as a trace file has it. */
export interface FileRecord {
  readonly entries: readonly TraceEntry[];
  readonly logFrequency: number;
}

/** A tensor with more elements than this is cut off, and ends in dots. Triton writes all elements, however long that takes. */
const MOST_ELEMENTS = 1000;
/** A stream's later responses are left out: the entries are kept until the request ends, which a stream need not. */
const MOST_RESPONSES = 10_000;

// The offset of this thread's clock from the machine's clock, which all threads and programs share.
const OFFSET_NS = Number(process.hrtime.bigint()) - performance.now() * 1e6;

function nanoseconds(milliseconds: number): number {
  return Math.round(OFFSET_NS + milliseconds * 1e6);
}

export class FileTrace implements RequestTrace {
  readonly hosted = undefined;
  readonly #id: number;
  readonly #inputs: readonly InferTensor[];
  readonly #protocol: 'HTTP' | 'GRPC' | undefined;
  readonly #settings: TraceSettings;
  readonly #report: (record: FileRecord) => void;
  readonly #entries: TraceEntry[] = [];
  #responses = 0;
  #sendingSince = 0;

  constructor(
    request: ModelInferRequest,
    place: {
      readonly id: number;
      readonly modelVersion: number;
      readonly settings: TraceSettings;
      readonly report: (record: FileRecord) => void;
    },
  ) {
    this.#id = place.id;
    this.#settings = place.settings;
    this.#report = place.report;
    this.#inputs = request.inputs;
    const { receipt } = request;
    this.#protocol = receipt?.protocol;
    if (receipt !== undefined) {
      const [start, end] =
        receipt.protocol === 'HTTP' ? ['RECV_START', 'RECV_END'] : ['WAITREAD_START', 'WAITREAD_END'];
      this.#at(`${receipt.protocol}_${start}`, receipt.startedAt);
      this.#at(`${receipt.protocol}_${end}`, receipt.endedAt);
    }
    if (this.#times) {
      const id = request.id === '' ? {} : { request_id: request.id };
      this.#add({ model_name: request.modelName, model_version: place.modelVersion, ...id });
    }
    this.#at('REQUEST_START', performance.now());
  }

  get #times(): boolean {
    return this.#settings.level.includes('TIMESTAMPS');
  }

  get #tensors(): boolean {
    return this.#settings.level.includes('TENSORS');
  }

  queued(): void {
    this.#at('QUEUE_START', performance.now());
    if (this.#tensors) for (const tensor of this.#inputs) this.#tensor('TENSOR_QUEUE_INPUT', tensor);
  }

  executed(begunAt: number, { computeInput, computeInfer, computeOutput }: ExecutionTimes): void {
    this.#at('COMPUTE_START', begunAt);
    this.#at('COMPUTE_INPUT_END', begunAt + computeInput);
    this.#at('COMPUTE_OUTPUT_START', begunAt + computeInput + computeInfer);
    this.#at('COMPUTE_END', begunAt + computeInput + computeInfer + computeOutput);
  }

  responding(outputs: readonly InferTensor[]): void {
    if (++this.#responses > MOST_RESPONSES) return;
    if (this.#tensors) for (const tensor of outputs) this.#tensor('TENSOR_BACKEND_OUTPUT', tensor);
    this.#sendingSince = performance.now();
    this.#at('INFER_RESPONSE_COMPLETE', this.#sendingSince);
  }

  responded(): void {
    if (this.#protocol === undefined || this.#responses > MOST_RESPONSES) return;
    this.#at(`${this.#protocol}_SEND_START`, this.#sendingSince);
    this.#at(`${this.#protocol}_SEND_END`, performance.now());
  }

  /** The entries already show whether a callable had the request. */
  answered(): void {
    this.#end();
  }

  failed(): void {
    this.#end();
  }

  /** As in Triton, a request that never waited is left out of the file. */
  refused(): void {
    this.#entries.length = 0;
  }

  #end(): void {
    this.#at('REQUEST_END', performance.now());
    this.#report({ entries: this.#entries, logFrequency: this.#settings.logFrequency });
  }

  #at(name: string, milliseconds: number): void {
    if (this.#times) this.#add({ timestamps: [{ name, ns: nanoseconds(milliseconds) }] });
  }

  #tensor(activity: string, { name, datatype, shape, bytes }: InferTensor): void {
    const data = elementTexts({ datatype, bytes }, MOST_ELEMENTS).join(',');
    this.#add({ activity, tensor: { name, data, shape: shape.join(','), dtype: datatype } });
  }

  #add(entry: TraceEntry): void {
    this.#entries.push({ id: this.#id, ...entry });
  }
}
