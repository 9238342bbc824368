// What mutation testing mutates, group by group, and the tests that are to notice: the decisions of the queue, the validation of
// requests, and what reads the bytes of strangers. Everything here is a decision about values; what waits, or shuffles bytes for
// speed alone, has no place in it.

export interface Group {
  /** Modules, as paths of the repository. */
  readonly mutate: readonly string[];
  /** Globs of the test files that run against the mutants. */
  readonly tests: readonly string[];
}

const under = (folder: string, names: string) => names.split(' ').map((name) => `src/${folder}/${name}.ts`);

export const GROUPS: Readonly<Record<string, Group>> = {
  queue: {
    mutate: [
      'src/linked-list.ts',
      'src/ring.ts',
      ...under(
        'core/scheduler',
        'batch-queue batch-scan answer-order deadline-heap execution-limit instance-slots queue-entry',
      ),
    ],
    tests: ['src/linked-list.test.ts', 'src/ring.test.ts', 'src/core/scheduler/*.test.ts'],
  },
  validation: {
    mutate: under('core', 'validate-request'),
    tests: ['src/core/validate-request.test.ts'],
  },
  http1: {
    mutate: under('http1', 'chunk-reader head-reader head-framing request-head-reader'),
    tests: ['src/http1/chunk-reader.test.ts', 'src/http1/request-head-reader.test.ts'],
  },
  hpack: {
    mutate: under('http2/hpack', 'hpack-decoder block-reader dynamic-table huffman-decode'),
    tests: ['src/http2/hpack/*.test.ts'],
  },
  frames: {
    mutate: under('http2', 'frame-reader check-frame header-list check-fields settings'),
    tests: ['src/http2/*.test.ts'],
  },
  // Without tensor-contents.ts: a test walks over two gigabytes there, and mutants count each step.
  grpc: {
    mutate: under('protocol/grpc', 'decode-infer-request'),
    tests: ['src/protocol/grpc/*.test.ts'],
  },
  json: {
    mutate: under('protocol/json', 'json-scanner'),
    tests: ['src/protocol/json/*.test.ts', 'src/protocol/http/*.test.ts'],
  },
  http: {
    mutate: under('protocol/http', 'decode-infer-request event-reader'),
    tests: ['src/protocol/http/*.test.ts'],
  },
};
