import { expect, it } from 'vitest';

import type { ModelInferRequest } from '../model/exchange.js';
import { type FileRecord, FileTrace } from './file-trace.js';

it('keeps no more of a stream than its first responses', () => {
  const request = { modelName: 'm', id: '', inputs: [], receipt: { protocol: 'HTTP', startedAt: 0, endedAt: 0 } };
  const settings = { mode: 'triton', file: 'f', level: ['TIMESTAMPS'], rate: 1, count: -1, logFrequency: 0 } as const;
  let record: FileRecord | undefined;
  const trace = new FileTrace(request as unknown as ModelInferRequest, {
    id: 1,
    modelVersion: 1,
    settings,
    report: (reported) => (record = reported),
  });
  trace.queued();
  for (let i = 0; i < 10_002; i++) {
    trace.responding([]);
    trace.responded();
  }
  trace.executed(0, { computeInput: 1, computeInfer: 1, computeOutput: 1 });
  trace.answered();
  const names = record!.entries.flatMap(
    ({ timestamps }) => (timestamps as readonly { name: string }[])?.[0]?.name ?? [],
  );
  const count = (name: string) => names.filter((each) => each === name).length;
  expect(['INFER_RESPONSE_COMPLETE', 'HTTP_SEND_START', 'HTTP_SEND_END'].map(count)).toEqual([10_000, 10_000, 10_000]);
  expect(names.slice(-5)).toEqual(['COMPUTE_START', 'COMPUTE_INPUT_END', 'COMPUTE_OUTPUT_START', 'COMPUTE_END', 'REQUEST_END']); // prettier-ignore
});
