import { describe, expect, it } from 'vitest';

import { InferenceStatistics } from '../core/scheduler/statistics.js';
import { statisticsJson } from './statistics-json.js';

const NONE = { count: 0, ns: 0 };

describe('the statistics of a model in JSON', () => {
  it('have every member of the extension, whatever happened', () => {
    expect(statisticsJson([new InferenceStatistics().report('m', '2')])).toEqual({
      model_stats: [
        {
          name: 'm',
          version: '2',
          last_inference: 0,
          inference_count: 0,
          execution_count: 0,
          inference_stats: {
            success: NONE,
            fail: NONE,
            queue: NONE,
            compute_input: NONE,
            compute_infer: NONE,
            compute_output: NONE,
            cache_hit: NONE,
            cache_miss: NONE,
          },
          response_stats: {},
          batch_stats: [],
          memory_usage: [],
        },
      ],
    });
  });

  it('have batches by size, and responses by their index as a key', () => {
    const statistics = new InferenceStatistics();
    statistics.recordExecution(2, { computeInput: 1, computeInfer: 2, computeOutput: 3 });
    statistics.responses.recordResponse(0, 4, 5);
    statistics.responses.recordEnd(1, 'emptyResponse', 6);
    const once = (milliseconds: number) => ({ count: 1, ns: milliseconds * 1e6 });
    const response = {
      compute_infer: NONE,
      compute_output: NONE,
      success: NONE,
      fail: NONE,
      empty_response: NONE,
      cancel: NONE,
    };
    expect(statisticsJson([statistics.report('m', '1')])).toMatchObject({
      model_stats: [
        {
          execution_count: 1,
          response_stats: {
            0: { ...response, compute_infer: once(4), compute_output: once(5), success: once(9) },
            1: { ...response, empty_response: once(6) },
          },
          batch_stats: [{ batch_size: 2, compute_input: once(1), compute_infer: once(2), compute_output: once(3) }],
        },
      ],
    });
  });
});
