// What mutation testing mutates, group by group, and the tests that are to notice: the decisions of the queue, the codecs, the parsers
// of both transports and the validation of requests. Everything here is a decision about values; what waits, or shuffles bytes for
// speed alone, has no place in it.

export interface Group {
  /** Modules, as paths or globs of the repository; `!` takes some out again. */
  readonly mutate: readonly string[];
  /** Globs of the test files that run against the mutants. */
  readonly tests: readonly string[];
}

export const GROUPS: Readonly<Record<string, Group>> = {
  queue: {
    mutate: [
      'src/core/scheduler/batch-queue.ts',
      'src/core/scheduler/batch-scan.ts',
      'src/core/scheduler/answer-order.ts',
      'src/core/scheduler/deadline-heap.ts',
      'src/core/scheduler/execution-limit.ts',
      'src/core/scheduler/instance-slots.ts',
      'src/core/scheduler/linked-list.ts',
      'src/core/scheduler/queue-entry.ts',
      'src/core/scheduler/ring.ts',
    ],
    tests: ['src/core/scheduler/*.test.ts'],
  },
  scheduler: {
    mutate: [
      'src/core/scheduler/batch-scheduler.ts',
      'src/core/scheduler/batch-runner.ts',
      'src/core/scheduler/request-outcomes.ts',
      'src/core/pending-request.ts',
    ],
    tests: ['src/core/scheduler/*.test.ts', 'src/core/model.test.ts'],
  },
  validation: {
    mutate: [
      'src/core/validate-request.ts',
      'src/core/shared-memory/shared-memory-range.ts',
      'src/model/resolve-outputs.ts',
    ],
    tests: ['src/core/validate-request.test.ts', 'src/core/shared-memory/*.test.ts', 'src/model/*.test.ts'],
  },
  hpack: {
    mutate: ['src/http2/hpack/*.ts', '!src/http2/hpack/static-table.ts', '!src/http2/hpack/huffman-code.ts'],
    tests: ['src/http2/hpack/*.test.ts'],
  },
};
