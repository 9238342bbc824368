// Where what comes of sequences differs from Triton's on purpose.
import type { SequenceOutcome } from './sequence-cases.js';

/** What is otherwise than recorded. */
export interface SequenceChanges {
  /** All of them: `a1 SR 1 0-100`. */
  readonly executions?: readonly string[];
  /** By id: `ok 2 at 800`. */
  readonly answers?: Readonly<Record<string, string>>;
  readonly streams?: SequenceOutcome['streams'];
  readonly probes?: readonly string[];
  readonly warnings?: readonly string[];
  readonly counts?: Readonly<Record<string, number>>;
}

export interface SequenceRule {
  readonly name: string;
  readonly reason: string;
  readonly cases: Readonly<Record<string, SequenceChanges>>;
}

/** Configurations that load in Triton, and the text that they are refused with. */
export const REFUSED: Readonly<Record<string, string>> = {
  'controls-two-on-one-tensor': "sequence batching control tensor 'BOTH' is specified for multiple control kinds",
  'oldest-candidates-negative': 'maxCandidateSequences',
};
/** What the engine does not see is in `sequence-state.test.ts`: states, rescheduling, and a refused member of an input. */
export const BEYOND_THE_ENGINE = /^(reschedule|state|implicit)-|^direct-shapes-ragged$/;

const sequenceGone = (id: number) => `sequence ${id} of model 'm' is over: the client of one of its requests is gone`;

export const SEQUENCE_RULES: readonly SequenceRule[] = [
  {
    name: 'idle time counts from the last answer',
    reason:
      'Triton counts it from the arrival of the last request, so that a sequence dies while its own requests run or wait. Here it counts from the last answer.',
    cases: {
      'idle-counts-from-arrival': {
        executions: ['a1 SR 1 0-600', 'a2 R 1 700-800'],
        answers: {
          a2: 'ok 2 at 800',
        },
        counts: {
          batch_size_1: 2,
          execution_count: 2,
          inference_count: 2,
          queue_count: 2,
          success_count: 2,
        },
      },
      'idle-while-executing': {
        executions: ['a1 SR 1 0-800', 'a2 R 1 800-900'],
        answers: {
          a2: 'ok 2 at 900',
        },
        counts: {
          batch_size_1: 2,
          execution_count: 2,
          inference_count: 2,
          queue_count: 2,
          success_count: 2,
        },
      },
      'idle-expired-and-started-again-while-executing': {
        executions: ['a1 SR 1 0-800', 'a2 R 1 800-900', 'A1 SR 1 900-1000', 'A2 ER 1 1000-1100'],
        answers: {
          A1: 'ok 10 at 1000',
          A2: 'ok 20 at 1100',
        },
        warnings: [
          "sequence 1 for model 'm' has a conflict. The previous sequence did not end before this sequence start. Previous sequence will be terminated early.",
        ],
        counts: {
          batch_size_1: 4,
          batch_size_2: 0,
          execution_count: 4,
        },
      },
      'idle-frees-the-slot': {
        executions: ['a1 SR 1 0-100', 'b1 SR 2 1100-1200', 'b2 ER 2 1200-1300'],
        answers: {
          b1: 'ok 1 at 1200',
          b2: 'ok 2 at 1300',
        },
      },
      'idle-backlog-waits-longer': {
        executions: [
          'a1 SR 1 0-300',
          'a2 R 1 350-650',
          'a3 R 1 700-1000',
          'a4 ER 1 1000-1300',
          'b1 SR 2 1300-1400',
          'b2 R 2 1400-1500',
          'b3 R 2 1600-1700',
        ],
        answers: {
          b2: 'ok 2 at 1500',
          b3: 'ok 3 at 1700',
        },
        counts: {
          batch_size_1: 7,
          execution_count: 7,
          inference_count: 7,
          queue_count: 7,
          success_count: 7,
        },
      },
      'idle-backlog-lives-after': {
        executions: ['a1 SR 1 0-300', 'a2 R 1 350-650', 'a3 ER 1 700-1000', 'b1 SR 2 1000-1100', 'b2 R 2 1150-1250'],
        answers: {
          b2: 'ok 2 at 1250',
        },
        counts: {
          batch_size_1: 5,
          execution_count: 5,
          inference_count: 5,
          queue_count: 5,
          success_count: 5,
        },
      },
      'idle-backlog-lives-after-late': {
        executions: ['a1 SR 1 0-300', 'a2 R 1 350-650', 'a3 ER 1 700-1000', 'b1 SR 2 1000-1100', 'b2 R 2 1400-1500'],
        answers: {
          b2: 'ok 2 at 1500',
        },
        counts: {
          batch_size_1: 5,
          execution_count: 5,
          inference_count: 5,
          queue_count: 5,
          success_count: 5,
        },
      },
      'idle-each-for-itself': {
        executions: [
          'a1 SR 1 0-100',
          '- | b1 SR 2 200-300',
          'a2 R 1 500-600',
          '- | b2 R 2 600-700',
          '- | b3 R 2 850-950',
        ],
        answers: {
          a2: 'ok 2 at 600',
        },
        counts: {
          batch_size_1: 2,
          execution_count: 5,
          inference_count: 5,
          queue_count: 5,
          success_count: 5,
        },
      },
      'idle-oldest-while-executing': {
        executions: ['a1 SR 1 0-800', 'a2 R 1 800-900', 'a3 R 1 900-1000'],
        answers: {
          a3: 'ok 3 at 1000',
        },
        counts: {
          batch_size_1: 3,
          execution_count: 3,
          inference_count: 3,
          queue_count: 3,
          success_count: 3,
        },
      },
      'idle-with-delay': {
        executions: ['a1 SR 1 800-900', 'a2 R 1 1300-1400'],
        answers: {
          a2: 'ok 2 at 1400',
        },
        counts: {
          batch_size_1: 2,
          execution_count: 2,
          inference_count: 2,
          queue_count: 2,
          success_count: 2,
        },
      },
    },
  },
  {
    name: 'a sequence that ends holds nobody back',
    reason:
      'Triton has the next sequence in the slot wait until END is answered, though other slots are free, and later sequences overtake it.',
    cases: {
      'oldest-shapes-differ': {
        executions: ['z1 SER 9 0-300', 'a1 SR 1 300-400', 'b1 SR 2 400-500', 'c1 SR 3 500-600'],
        answers: {
          a1: 'ok 1 at 400',
          b1: 'ok 2 at 500',
          c1: 'ok 1 at 600',
        },
        counts: {
          batch_size_1: 4,
          batch_size_2: 0,
          execution_count: 4,
        },
      },
      'oldest-candidates-above-batch': {
        executions: [
          'z1 SER 9 0-300',
          'a1 SR 1 | b1 SR 2 300-400',
          'c1 SR 3 | d1 SR 4 400-500',
          'a2 R 1 | b2 R 2 500-600',
        ],
        answers: {
          a1: 'ok 1 at 400',
          a2: 'ok 2 at 600',
          c1: 'ok 1 at 500',
        },
        counts: {
          batch_size_1: 1,
          batch_size_2: 3,
          execution_count: 4,
        },
      },
      'oldest-start-end-same-id-three-times': {
        executions: ['a1 SER 1 0-300', 'a2 SER 1 | a3 SER 1 300-400'],
        answers: {
          a2: 'ok 1 at 400',
        },
        counts: {
          batch_size_1: 1,
          batch_size_2: 1,
          execution_count: 2,
        },
      },
      'oldest-preferred-two': {
        executions: ['z1 SER 9 0-300', 'a1 SR 1 | b1 SR 2 300-400', 'c1 SR 3 400-500'],
        answers: {
          a1: 'ok 1 at 400',
          c1: 'ok 1 at 500',
        },
      },
      'oldest-ordering-on': {
        executions: ['z1 SER 9 0-200', 'a1 SR 1 200-300', 'b1 SR 2 300-400', 'a2 ER 1 400-500'],
        answers: {
          a1: 'ok 1 at 300',
          b1: 'ok 1 at 400',
        },
      },
      'oldest-ordering-off': {
        executions: ['z1 SER 9 0-200', 'a1 SR 1 200-300', 'b1 SR 2 300-400', 'a2 ER 1 400-500'],
        answers: {
          a1: 'ok 1 at 300',
          b1: 'ok 1 at 400',
        },
      },
      'error-oldest-one-of-batch': {
        executions: ['z1 SER 9 0-200', 'a1 SR 1 | b1 SR 2 200-300', 'a2 R 1 500-600', 'b2 R 2 650-750'],
        counts: {
          fail_count: 1,
          'failed BACKEND': 1,
          inference_count: 4,
          queue_count: 4,
          success_count: 4,
        },
      },
      'error-oldest-raise': {
        executions: ['z1 SER 9 0-200', 'a1 SR 1 | b1 SR 2 200-300', 'b2 R 2 500-600', 'a2 R 1 650-750'],
        answers: {
          a1: 'INTERNAL asked to fail at 300',
          b1: 'INTERNAL asked to fail at 300',
        },
      },
      'oldest-behind-an-ending-one-max2': {
        executions: ['z1 SER 9 0-500', 'a1 SR 1 | b1 SR 2 500-600', 'c1 SR 3 600-700'],
        answers: {
          a1: 'ok 1 at 600',
          c1: 'ok 1 at 700',
        },
      },
    },
  },
  {
    name: 'a batch is decided when an instance is free',
    reason:
      'Triton puts one batch together ahead while the instance is busy: requests that may run only when it has ended come too late for it.',
    cases: {
      'oldest-two-bursts': {
        executions: [
          'a1 SR 1 0-200',
          'b1 SR 2 | a2 R 1 200-300',
          'b2 R 2 | a3 R 1 300-400',
          'b3 ER 2 | a4 ER 1 400-500',
        ],
        answers: {
          a2: 'ok 2 at 300',
          a3: 'ok 3 at 400',
          a4: 'ok 4 at 500',
        },
        counts: {
          batch_size_1: 1,
          batch_size_2: 3,
          execution_count: 4,
        },
      },
      'unload-oldest-busy': {
        executions: ['a1 SR 1 0-500', 'b1 SR 2 | a2 R 1 500-600'],
        answers: {
          a2: 'ok 2 at 600',
        },
      },
    },
  },
  {
    name: 'an error answer counts as failed',
    reason: 'Triton counts a request that the model answers with an error as a success.',
    cases: {
      'error-direct-middle': {
        counts: {
          fail_count: 1,
          'failed BACKEND': 1,
          inference_count: 3,
          queue_count: 3,
          success_count: 3,
        },
      },
      'error-direct-start': {
        counts: {
          fail_count: 1,
          'failed BACKEND': 1,
          inference_count: 2,
          queue_count: 2,
          success_count: 2,
        },
      },
      'error-direct-end': {
        counts: {
          fail_count: 1,
          'failed BACKEND': 1,
          inference_count: 1,
          queue_count: 1,
          success_count: 1,
        },
      },
      'error-direct-one-of-batch': {
        counts: {
          fail_count: 1,
          'failed BACKEND': 1,
          inference_count: 4,
          queue_count: 4,
          success_count: 4,
        },
      },
      'error-direct-raise': {
        answers: {
          a1: 'INTERNAL asked to fail at 300',
          b1: 'INTERNAL asked to fail at 300',
        },
      },
      'error-oldest-start': {
        counts: {
          fail_count: 1,
          'failed BACKEND': 1,
          inference_count: 2,
          queue_count: 2,
          success_count: 2,
        },
      },
      'error-oldest-end': {
        counts: {
          fail_count: 1,
          'failed BACKEND': 1,
          inference_count: 1,
          queue_count: 1,
          success_count: 1,
        },
      },
      'error-queued-behind': {
        counts: {
          fail_count: 1,
          'failed BACKEND': 1,
          inference_count: 3,
          queue_count: 3,
          success_count: 3,
        },
      },
    },
  },
  {
    name: 'the input of an id is a string of any length',
    reason:
      'Triton 2.51 sends a string id without its length: the model gets one only where it has exactly 128 bytes, and then as Latin-1.',
    cases: {
      'id-string': {
        executions: [
          'a1 SR alpha 0-100',
          '- | b1 SR beta 200-300',
          'a2 R alpha 400-500',
          '- | b2 ER beta 600-700',
          'a3 ER alpha 800-900',
        ],
        answers: {
          a1: 'ok 1 at 100',
          a2: 'ok 2 at 500',
          a3: 'ok 3 at 900',
          b1: 'ok 1 at 300',
          b2: 'ok 2 at 700',
        },
        counts: {
          batch_size_1: 3,
          batch_size_2: 2,
          execution_count: 5,
          fail_count: 0,
          'failed BACKEND': 0,
          inference_count: 5,
          queue_count: 5,
          success_count: 5,
        },
      },
      'id-string-detail': {
        executions: ['a1 SR alpha 0-100', '- | b1 SR é中 200-300', '- | b2 ER é中 400-500'],
        answers: {
          a1: 'ok 1 at 100',
          b1: 'ok 1 at 300',
          b2: 'ok 2 at 500',
        },
        counts: {
          batch_size_1: 1,
          batch_size_2: 2,
          execution_count: 3,
          fail_count: 0,
          'failed BACKEND': 0,
          inference_count: 3,
          queue_count: 3,
          success_count: 3,
        },
      },
      'id-string-http': {
        executions: ['a1 SR alpha 0-100', '- | b1 SR beta 200-300', 'a2 ER alpha 400-500'],
        answers: {
          a1: 'ok 1 at 100',
          a2: 'ok 2 at 500',
          b1: 'ok 1 at 300',
        },
        counts: {
          batch_size_1: 2,
          batch_size_2: 1,
          execution_count: 3,
          fail_count: 0,
          'failed BACKEND': 0,
          inference_count: 3,
          queue_count: 3,
          success_count: 3,
        },
      },
      'id-number-in-string-control': {
        executions: ['a1 SER 5 0-100'],
        answers: {
          a1: 'ok 1 at 100',
        },
        counts: {
          batch_size_1: 1,
          execution_count: 1,
          fail_count: 0,
          'failed BACKEND': 0,
          inference_count: 1,
          queue_count: 1,
          success_count: 1,
        },
      },
    },
  },
  {
    name: 'an id that is no number gets a number of its own',
    reason: 'Triton sends the length and the first letters of a string id in one number, which two ids may share.',
    cases: {
      'id-string-in-number-control': {
        executions: ['a1 SER 9223372036854775809 0-100'],
      },
      'id-long-string-in-number-control': {
        executions: ['a1 SER 9223372036854775809 0-100', 'b1 SER 1 200-300'],
      },
    },
  },
  {
    name: 'a cancelled sequence says so',
    reason:
      'Triton fails the other requests of the sequence with an empty text. On a stream an empty error message is none, so that clients take it for an answer.',
    cases: {
      'cancel-direct-queued': { answers: { a3: `CANCELLED ${sequenceGone(1)} at 400` } },
      'cancel-direct-queued-second': { answers: { a4: `CANCELLED ${sequenceGone(1)} at 500` } },
      'cancel-direct-first-queued': { answers: { a2: `CANCELLED ${sequenceGone(1)} at 400` } },
      'cancel-oldest-queued': { answers: { a3: `CANCELLED ${sequenceGone(1)} at 400` } },
      'cancel-oldest-queued-second': { answers: { a4: `CANCELLED ${sequenceGone(1)} at 500` } },
      'cancel-oldest-first-queued': { answers: { a2: `CANCELLED ${sequenceGone(1)} at 400` } },
      'cancel-direct-backlog-second': { answers: { b1: `CANCELLED ${sequenceGone(2)} at 600` } },
      'cancel-oldest-backlog': { answers: { b2: `CANCELLED ${sequenceGone(2)} at 600` } },
    },
  },
  {
    name: 'a client whose HTTP connection ends has cancelled',
    reason: 'Triton does not notice that an HTTP client is gone.',
    cases: {
      'cancel-direct-http-queued': {
        executions: ['a1 SR 1 0-400'],
        answers: {
          a3: `CANCELLED ${sequenceGone(1)} at 400`,
          a4: "INVALID_ARG inference request for sequence 1 to model 'm' must specify the START flag on the first request of the sequence at 800",
        },
        counts: {
          batch_size_1: 1,
          execution_count: 1,
          fail_count: 2,
          'failed CANCELED': 2,
          inference_count: 1,
          queue_count: 1,
          success_count: 1,
        },
      },
    },
  },
  {
    name: 'a request that is cancelled while it runs counts as cancelled',
    reason: 'Triton counts it as a success when it ends.',
    cases: {
      'cancel-direct-stream': {
        counts: {
          fail_count: 2,
          'failed CANCELED': 2,
          inference_count: 2,
          queue_count: 2,
          success_count: 2,
        },
      },
    },
  },
  {
    name: 'the stream of a request is its execution',
    reason:
      'Triton lets the next request of a sequence run when the callable has returned, though answers to the one before it are still to come. A generator has not returned then: its sequence waits.',
    cases: {
      'oldest-ordering-off-decoupled': {
        streams: {
          s: ['a1 ok 1', 'b1 ok 1', 'b2 ok 2', 'a2 ok 2'],
        },
      },
      'decoupled-direct-late': {
        streams: {
          s: ['a1 ok 1', 'a2 ok 2', 'a3 ok 3'],
        },
      },
    },
  },
  {
    name: 'a sequence without requests does not keep a model from unloading',
    reason: 'Triton waits for the idle time, though no request can come any more.',
    cases: {
      'unload-direct-live': {
        probes: ['index UNAVAILABLE unloaded', 'index UNAVAILABLE unloaded'],
      },
      'unload-oldest-live': {
        probes: ['index UNAVAILABLE unloaded', 'index UNAVAILABLE unloaded'],
      },
    },
  },
  {
    name: 'what is under way goes on in the model that was replaced',
    reason:
      'Triton forgets all sequences when a model is loaded again. Here they go on in the replaced one until they end or idle out.',
    cases: {
      'load-again-same-config': {
        executions: ['a1 SR 1 0-100', 'a2 R 1 1800-1900', 'b1 SR 2 2000-2100'],
        answers: {
          a2: 'ok 2 at 1900',
        },
        counts: {
          batch_size_1: 2,
          execution_count: 2,
          inference_count: 2,
          queue_count: 2,
          success_count: 2,
        },
      },
      'load-again-other-config': {
        executions: ['a1 SR 1 0-100', 'a2 R 1 1800-1900', 'b1 SR 2 2000-2100'],
        answers: {
          a2: 'ok 2 at 1900',
        },
        counts: {
          batch_size_1: 2,
          execution_count: 2,
          inference_count: 2,
          queue_count: 2,
          success_count: 2,
        },
      },
      'load-again-more-instances': {
        executions: [
          'a1 SR 1 0-100',
          'a2 R 1 1800-1900',
          'c1 SR 3 2000-2100',
          'd1 SR 4 2100-2200',
          'b1 SR 2 6900-7000',
        ],
        answers: {
          a2: 'ok 2 at 1900',
          b1: 'ok 1 at 7000',
        },
        counts: {
          batch_size_1: 3,
          execution_count: 3,
          inference_count: 3,
          queue_count: 3,
          success_count: 3,
        },
      },
      'load-again-fewer-instances': {
        executions: [
          'a1 SR 1 on 1 0-100',
          'b1 SR 2 on 2 100-200',
          'a2 R 1 on 1 1800-1900',
          'b2 R 2 on 2 1900-2000',
          'a3 ER 1 on 1 2100-2200',
          'b3 ER 2 on 2 2200-2300',
          'c1 SR 3 on 3 2500-2600',
          'd1 SR 4 on 3 7600-7700',
        ],
        answers: {
          a2: 'ok 2 at 1900',
          a3: 'ok 3 at 2200',
          b2: 'ok 2 at 2000',
          b3: 'ok 3 at 2300',
          d1: 'ok 1 at 7700',
        },
        counts: {
          batch_size_1: 6,
          execution_count: 6,
          inference_count: 6,
          queue_count: 6,
          success_count: 6,
        },
      },
    },
  },
  {
    name: 'the wires do their part',
    reason:
      'The engine is played without its wires here: they check the length of ids, send the empty final response, and close HTTP first when the server stops.',
    cases: {
      'id-string-128': {
        executions: [
          'a1 SR kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk 0-100',
          'a2 ER kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk 200-300',
          'b1 SR kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk 400-500',
          'c1 SR kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk 500-600',
          '- | d1 SR éééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééé 600-700',
          '- | - | e1 SR ééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééé 750-850',
        ],
        answers: {
          b1: 'ok 1 at 500',
          c1: 'ok 1 at 600',
          e1: 'ok 1 at 850',
        },
        warnings: [
          "sequence kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk for model 'm' has a conflict. The previous sequence did not end before this sequence start. Previous sequence will be terminated early.",
        ],
        counts: {
          batch_size_1: 4,
          batch_size_2: 1,
          batch_size_3: 1,
          execution_count: 6,
          inference_count: 6,
          queue_count: 6,
          success_count: 6,
        },
      },
      'decoupled-direct-empty-final': {
        streams: {
          s: ['a1 ok 1', 'a1 ok 1'],
        },
      },
      'stop-direct-live': {
        executions: ['a1 SR 1 0-100', '- | b1 SR 2 100-600', 'a2 R 1 600-700', 'a3 R 1 700-800'],
        answers: {
          a3: 'ok 3 at 800',
        },
      },
    },
  },
  {
    name: 'the recorded model is another',
    reason: 'It looks for START as 1, which this configuration never sends; and its library says more of an exception.',
    cases: {
      'controls-odd-values': {
        answers: {
          a1: 'ok 1 at 100',
          a2: 'ok 2 at 500',
          b1: 'ok 1 at 300',
        },
      },
    },
  },
  {
    name: 'the recorded machine was held up',
    reason: 'Its executions began up to 200 ms late; counts and order are the same.',
    cases: {
      'direct-two-instances': {
        executions: [
          'a1 SR 1 on 1 0-100',
          'b1 SR 2 on 2 150-250',
          '- | c1 SR 3 on 1 300-400',
          '- | d1 SR 4 on 2 450-550',
          'a2 R 1 on 1 600-700',
          'b2 R 2 on 2 750-850',
          '- | c2 R 3 on 1 900-1000',
          '- | d2 R 4 on 2 1050-1150',
        ],
        answers: {
          b2: 'ok 2 at 850',
        },
      },
      'direct-start-again-keeps-slot': {
        executions: [
          'b1 SR 2 0-100',
          '- | a1 SR 1 150-250',
          '- | A1 SR 1 300-400',
          'b2 ER 2 450-550',
          '- | A2 SR 1 600-700',
        ],
        answers: {
          A2: 'ok 1 at 700',
          b2: 'ok 2 at 550',
        },
      },
    },
  },
  {
    name: 'the end of an iterative request is no failure',
    reason: 'Triton ends the sequence of such a request with a null request, which it counts as a cancelled one.',
    cases: {
      'iterative-one': { counts: { fail_count: 0, 'failed CANCELED': 0 } },
      'iterative-detail': { counts: { fail_count: 0, 'failed CANCELED': 0 } },
      'iterative-two-direct': { counts: { fail_count: 0, 'failed CANCELED': 0 } },
      'iterative-two-oldest': { counts: { fail_count: 0, 'failed CANCELED': 0 } },
      'iterative-not-decoupled-http': { counts: { fail_count: 0, 'failed CANCELED': 0 } },
      'iterative-one-step-only': { counts: { fail_count: 0, 'failed CANCELED': 0 } },
      'iterative-slots-free-again': { counts: { fail_count: 0, 'failed CANCELED': 0 } },
      'iterative-not-decoupled': {
        executions: ['a  1 0-100', 'a  1 | b  2 100-200', 'a  1 | b  2 200-300'],
        answers: { a: 'ok 3 at 300', b: 'ok 2 at 300' },
        counts: { fail_count: 0, 'failed CANCELED': 0 },
      },
      'iterative-backlog-timeout': { counts: { fail_count: 1, 'failed CANCELED': 0 } },
      'iterative-error-at-the-end': {
        counts: {
          fail_count: 1,
          'failed BACKEND': 1,
          'failed CANCELED': 0,
          inference_count: 4,
          queue_count: 4,
          success_count: 4,
        },
      },
      // Its client's own cancellation remains.
      'iterative-cancel': {
        counts: {
          batch_size_2: 4,
          execution_count: 5,
          inference_count: 6,
          queue_count: 6,
          success_count: 6,
        },
      },
      'iterative-cancel-call': {
        counts: {
          fail_count: 1,
          'failed CANCELED': 1,
          inference_count: 6,
          queue_count: 6,
          success_count: 6,
        },
      },
    },
  },
  {
    name: 'all steps of a request run before the next request of its sequence',
    reason:
      'Triton puts a request behind those of its sequence that wait, starts its sequence anew with it, or, behind END, never answers it.',
    cases: {
      'iterative-with-id': {
        executions: ['a  5 0-100', 'a  5 140-240', 'a  5 240-340', 'b  5 340-440', 'c  5 800-900'],
        streams: { s: ['a ok 1', 'a ok 2', 'a ok 3', 'b ok 4', 'c ok 5'] },
        counts: {
          batch_size_1: 5,
          execution_count: 5,
          fail_count: 0,
          'failed CANCELED': 0,
          inference_count: 5,
          queue_count: 5,
          success_count: 5,
        },
      },
      'iterative-with-start-and-end': {
        executions: ['a  5 10-110', 'a  5 110-210', 'a  5 210-310'],
        streams: { s: ['a ok 1', 'a ok 2', 'a ok 3'] },
        counts: {
          batch_size_1: 3,
          execution_count: 3,
          inference_count: 3,
          queue_count: 3,
          success_count: 3,
        },
      },
    },
  },
  {
    name: 'a model unloads when its last iterative request has ended',
    reason: 'Triton keeps the model for seconds more.',
    cases: {
      'iterative-unload': {
        executions: ['a  1 0-200', 'a  1 200-400', 'a  1 400-600', 'a  1 600-800', 'a  1 800-1000'],
        probes: ['index UNLOADING', 'index UNAVAILABLE unloaded', 'index UNAVAILABLE unloaded'],
      },
    },
  },
];

/** What was recorded, with what is otherwise. */
export function changed(recorded: SequenceOutcome, change: SequenceChanges): SequenceOutcome {
  const { executions, answers, ...rest } = change;
  return {
    ...recorded,
    ...rest,
    ...(executions && { executions: executions.map(executionOf) }),
    answers: {
      ...recorded.answers,
      ...Object.fromEntries(Object.entries(answers ?? {}).map(([id, text]) => [id, answerOf(text)])),
    },
    counts: recorded.counts && { ...recorded.counts, ...rest.counts },
  };
}

function executionOf(text: string): SequenceOutcome['executions'][number] {
  const [, batch, start, end] = /^(.*) (\d+)-(\d+)$/.exec(text)!;
  return { batch: batch!, start: Number(start), end: Number(end) };
}

function answerOf(text: string): { text: string; at: number } {
  const [, answer, at] = /^(.*) at (\d+)$/s.exec(text)!;
  return { text: answer!, at: Number(at) };
}
