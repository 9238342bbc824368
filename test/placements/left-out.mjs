// The suites of callables that run wherever callables may run, and the tests that a placement leaves out, with the reason.

/** Files of test/e2e. */
export const SUITES = [
  'client-error-codes',
  'client-sequence',
  'client-streams',
  'execution-timeout',
  'inference',
  'iterative',
  'L0_batcher',
  'L0_client_timeout',
  'L0_decoupled',
  'L0_generate',
  'L0_infer_zero',
  'L0_input_validation',
  'L0_model_queue',
  'L0_nan_inf',
  'L0_optional_input',
  'L0_parameters',
  'L0_priority',
  'L0_request_cancellation',
  'L0_response_cache',
  'L0_sequence_batcher',
  'L0_sequences',
  'L0_string_io',
  'pipelines',
  'unbatched',
  'warm-up',
];

const NO_CHANGES = 'a RemoteTriton has neither unbind nor rebind: its process stops, and another one binds';

/** By placement, the end of a test's full name and the reason. @type {Readonly<Record<string, Readonly<Record<string, string>>>>} */
export const LEFT_OUT = {
  inline: {
    'answers while the callable still blocks, as the server has a thread of its own':
      'a server in the thread of a callable that blocks answers nobody',
  },
  remote: {
    'ends what is live when a model is unbound': NO_CHANGES,
    'gives a model that is to be replaced none of the instances that come to replace it': NO_CHANGES,
    'in this thread makes its model not ready, refuses what waits, and serves again when it settles':
      "a Triton's isReady tells of the models that its own process has bound, and here its process has bound none",
    'waits for a server that is not there yet, and learns that another does not know it':
      'a server whose models come through links answers before it has them: a client is told NOT_FOUND until then',
  },
};
