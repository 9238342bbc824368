// Where the states of sequences are others than Triton's on purpose.

/** By the ids of requests: what each was answered, and the states that its execution got; or its error. */
export type StateOutcome = Record<string, string | { readonly y: unknown; readonly state: unknown }>;

/** Configurations that load in Triton, and the text that they are refused with. */
export const REFUSED_STATES: Readonly<Record<string, string>> = {
  'direct-shapes-ragged': 'requests of one batch have one shape',
  'implicit-same-input-twice': "State input name 'p_in' specified more than once",
  'implicit-named-like-an-input': "state 'x_in' of model 'implicit-named-like-an-input' is named like an input",
};

export interface StateRule {
  readonly name: string;
  readonly reason: string;
  readonly cases: Readonly<Record<string, StateOutcome>>;
}

const cannotReschedule = (name: string): StateOutcome => ({
  a1: `error model '${name}' cannot reschedule: its config.sequenceBatching must have iterative: true`,
});

export const STATE_RULES: readonly StateRule[] = [
  {
    name: 'a request that fails leaves its state as it was',
    reason: 'Triton keeps what the model has given of a request that it answers with an error.',
    cases: { 'implicit-error-answer': { a3: { y: 6, state: { st_in: 3 } } } },
  },
  {
    name: 'the next state is what the callable gives',
    reason:
      'Where the configuration gives the input and the output of a state one buffer, a model of Triton may write to it. Such a state would change also with a request that fails.',
    cases: {
      'implicit-same-buffer-no-update': {
        a3: { y: 6, state: { st_in: 3 } },
        a4: { y: 9, state: { st_in: 6 } },
        a5: { y: 9, state: { st_in: 6 } },
      },
    },
  },
  {
    name: 'a state belongs to the output that the configuration names',
    reason: 'Triton pairs inputs and outputs in the order of their names.',
    cases: {
      'implicit-crossed-names': {
        a2: { y: 3, state: { p_in: 3, q_in: 0 } },
        a3: { y: 3, state: { p_in: 3, q_in: 0 } },
      },
    },
  },
  {
    name: 'an output that nobody declared fails the request',
    reason: 'Triton writes an error into its log, and answers all the same.',
    cases: {
      'implicit-wrong-name': {
        a1: "error model 'implicit-wrong-name' returned an output 'other' that is not declared; declared are y, info, st_out",
      },
    },
  },
  {
    name: 'only an iterative model can reschedule',
    reason: 'Triton writes an error into its log, and answers all the same.',
    cases: Object.fromEntries(
      ['reschedule-without-iterative', 'reschedule-without-iterative-oldest', 'reschedule-without-sequences'].map(
        (name) => [name, cannotReschedule(name)],
      ),
    ),
  },
];
