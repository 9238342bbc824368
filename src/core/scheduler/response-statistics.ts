// What became of the responses of a decoupled model, by their index within a request: `response_stats` of the statistics
// extension. A request's responses end with one more entry that says how: failed, cancelled, or with nothing further.

import type { ResponseStatistics, StatisticDuration } from '../../model/model-statistics.js';

/** How a request's responses end. */
export type ResponseEnd = 'fail' | 'emptyResponse' | 'cancel';

/** Responses beyond so many of one request are not told apart: a report must not grow with the length of streams. */
const MOST_INDICES = 1000;

const COMPUTE_INFER = 0;
const COMPUTE_OUTPUT = 2;
const SUCCESS = 4;
const ENDS = { fail: 6, emptyResponse: 8, cancel: 10 } as const satisfies Record<ResponseEnd, number>;
const FIELDS = 12;

export class ResponseCounters {
  /** Per index a count and milliseconds of each duration. */
  readonly #rows: Float64Array[] = [];

  /** Response `index` of a request was sent. Durations in milliseconds. */
  recordResponse(index: number, infer: number, output: number): void {
    const row = this.#row(index);
    if (row === undefined) return;
    add(row, COMPUTE_INFER, infer);
    add(row, COMPUTE_OUTPUT, output);
    add(row, SUCCESS, infer + output);
  }

  /** A request ended after `index` responses. */
  recordEnd(index: number, end: ResponseEnd, milliseconds: number): void {
    const row = this.#row(index);
    if (row !== undefined) add(row, ENDS[end], milliseconds);
  }

  /** By index. */
  report(): readonly ResponseStatistics[] {
    return this.#rows.map((row) => ({
      computeInfer: durationAt(row, COMPUTE_INFER),
      computeOutput: durationAt(row, COMPUTE_OUTPUT),
      success: durationAt(row, SUCCESS),
      fail: durationAt(row, ENDS.fail),
      emptyResponse: durationAt(row, ENDS.emptyResponse),
      cancel: durationAt(row, ENDS.cancel),
    }));
  }

  #row(index: number): Float64Array | undefined {
    if (index >= MOST_INDICES) return undefined;
    while (this.#rows.length <= index) this.#rows.push(new Float64Array(FIELDS));
    return this.#rows[index];
  }
}

function add(row: Float64Array, field: number, milliseconds: number): void {
  row[field]!++;
  row[field + 1]! += milliseconds;
}

function durationAt(row: Float64Array, field: number): StatisticDuration {
  return { count: row[field]!, ns: Math.round(row[field + 1]! * 1e6) };
}
