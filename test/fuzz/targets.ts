// Everything that is fuzzed, by the name that `npm run fuzz` takes.
import type { FuzzTarget } from './fuzz-target.js';
import { bytes } from './targets/bytes.js';
import { clientAnswers } from './targets/client-answers.js';
import { events } from './targets/events.js';
import { httpRequests } from './targets/http-requests.js';
import { json } from './targets/json.js';
import { messageFrames } from './targets/message-frames.js';
import { textFormat } from './targets/text-format.js';
import { controlMessages, inferRequests, inferResponses } from './targets/protobuf.js';

/** Decoders: functions of bytes. */
export const TARGETS: Readonly<Record<string, FuzzTarget>> = {
  json,
  'http-requests': httpRequests,
  'client-answers': clientAnswers,
  bytes,
  events,
  'message-frames': messageFrames,
  'infer-requests': inferRequests,
  'infer-responses': inferResponses,
  'control-messages': controlMessages,
  'text-format': textFormat,
};

/** Whole connections: tests that fuzz, made long by variables of the environment, which say how long and where to begin. */
export interface FuzzedTest {
  readonly about: string;
  readonly file: string;
  readonly runs: string;
  readonly seed: string;
  /** What one run of the test has of each kind of input. The first kind is the one that is counted. */
  readonly inputs: Readonly<Record<string, number>>;
}

const HTTP1 = { runs: 'HTTP1_FUZZ_RUNS', seed: 'HTTP1_FUZZ_SEED' };
const HTTP2 = { runs: 'HTTP2_FUZZ_RUNS', seed: 'HTTP2_FUZZ_SEED' };

export const FUZZED_TESTS: Readonly<Record<string, FuzzedTest>> = {
  'http1-requests': {
    about: 'connections of HTTP/1.1 against node:http',
    file: 'src/http1/fuzz.test.ts',
    inputs: { 'conversations of one to three requests': 1 },
    ...HTTP1,
  },
  'http1-answers': {
    about: 'answers to clients against node:http',
    file: 'src/http1/response-fuzz.test.ts',
    inputs: { answers: 1 },
    ...HTTP1,
  },
  http2: {
    about: 'connections of HTTP/2, frames and HPACK',
    file: 'src/http2/fuzz.test.ts',
    inputs: {
      'random header blocks': 50,
      'random frames, each connection with 60': 60,
      'pieces of random bytes, each connection with 20': 20,
      'exchanges of a client and a server of ours': 1,
    },
    ...HTTP2,
  },
  hpack: {
    about: 'HPACK with node:http2, both ways',
    file: 'src/http2/hpack/node-hpack.test.ts',
    inputs: { 'lists of fields': 8 },
    ...HTTP2,
  },
};
