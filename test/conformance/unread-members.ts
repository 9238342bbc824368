// What the recordings hold and no replay reads, with the reason: the members of each file and how many cases have them.
// Whatever else is not read fails the suite, and so does a line here that is not true any more.
import type { WatchedReplay } from './replays.js';
import { summarize } from './rules.js';
import type { Unread } from './watched-cases.js';

interface UnreadMember {
  /** A member, with all that is below it. */
  readonly member: string;
  readonly cases: number;
  readonly reason: string;
}

const reasonPhrase = (cases: number): UnreadMember => ({
  member: 'response.reason',
  cases,
  reason: 'Clients go by the number (RFC 9112, section 4).',
});
const modelInPath = (cases: number): UnreadMember => ({
  member: 'model',
  cases,
  reason: 'Whom the path asks, which is what is sent; rules read what they need.',
});
const inWords = (member: string, cases: number): UnreadMember => ({
  member,
  cases,
  reason: 'What the recorder says of the case, in words.',
});
const readable = (cases: number): UnreadMember => ({
  member: 'request',
  cases,
  reason: 'The readable form of `request_base64`, which is what is sent; rules read what they need.',
});
const statusName = (cases: number): UnreadMember => ({
  member: 'response.status_name',
  cases,
  reason: 'The name of `status_code`.',
});

export const UNREAD: Readonly<Record<string, readonly UnreadMember[]>> = {
  management: [reasonPhrase(1021), modelInPath(698)],
  'infer-json': [
    reasonPhrase(972),
    modelInPath(953),
    inWords('note', 4),
    { member: 'response.timeout', cases: 2, reason: 'Of an answer that is neither closed nor there.' },
  ],
  'infer-binary': [reasonPhrase(250), modelInPath(238), inWords('note', 1)],
  generate: [reasonPhrase(195), modelInPath(184)],
  compression: [reasonPhrase(92), modelInPath(89)],
  metrics: [
    reasonPhrase(56),
    { member: 'varies', cases: 8, reason: 'What of each value is compared follows from its kind: metrics-values.ts.' },
  ],
  'grpc infer': [
    readable(528),
    statusName(535),
    {
      member: 'request_base64',
      cases: 2,
      reason: 'Too long to keep, and made from `request_rule`; so is the response.',
    },
    { member: 'response.body_base64', cases: 2, reason: 'Made from `request_rule`.' },
  ],
  'grpc management': [readable(312), statusName(349)],
  'grpc stream': [
    readable(131),
    statusName(145),
    {
      member: 'response.at_ms',
      cases: 132,
      reason: 'When responses come is a matter of real time; the scenarios of the scheduler have exact moments.',
    },
    { member: 'varies', cases: 1, reason: 'What varies there is named by a rule.' },
  ],
  'model-config': [
    {
      member: 'bind',
      cases: 19,
      reason: 'Dimensions of calls that our bind refuses for something else.',
    },
    { member: 'config', cases: 10, reason: 'Of calls that only one of the two servers refuses.' },
    { member: 'metadata', cases: 10, reason: 'Of calls that only one of the two servers refuses.' },
    { member: 'error.bases', cases: 29, reason: "Python's classes." },
    { member: 'error.type', cases: 29, reason: "Python's classes." },
    { member: 'error.raised_by', cases: 29, reason: 'Ours are all raised by bind.' },
  ],
  decorators: [
    { member: 'error.bases', cases: 81, reason: "Python's classes." },
    { member: 'error.type', cases: 81, reason: "Python's classes." },
    {
      member: 'calls[].named_order',
      cases: 124,
      reason: 'Keyword arguments have an order in Python; inputs by name have none that a callable could count on.',
    },
    { member: 'calls', cases: 7, reason: 'A numpy scalar is a plain number here, which has no dtype.' },
    { member: 'generator', cases: 5, reason: 'Said by `yields` as well.' },
    inWords('note', 3),
    {
      member: 'returns',
      cases: 2,
      reason: 'Not compared: a numpy scalar, and a generator that PyTriton does not run.',
    },
    {
      member: 'args',
      cases: 6,
      reason: 'Of decorators that are refused before they look at them, and of one that is not asked.',
    },
    { member: 'decorator', cases: 1, reason: 'Of the case that is not asked.' },
    { member: 'context_attributes', cases: 1, reason: 'The members of the context are a matter of types.' },
    { member: 'keyword_names', cases: 1, reason: 'The context is an argument, not a keyword.' },
  ],
  validation: [
    inWords('returned', 112),
    { member: 'http.no_answer', cases: 1, reason: 'How the client that waited in vain gave up.' },
    { member: 'http.seconds', cases: 1, reason: 'For how long it waited.' },
  ],
  lifecycle: [
    { member: 'error.bases', cases: 24, reason: "Python's classes." },
    { member: 'error.type', cases: 24, reason: "Python's classes." },
    { member: 'seconds', cases: 83, reason: 'How long it took there.' },
    { member: 'seconds_to_exit', cases: 7, reason: 'How long it took there.' },
    { member: 'seconds_to_ready', cases: 6, reason: 'How long it took there.' },
    { member: 'parent_gone_after_s', cases: 3, reason: 'There is no process besides.' },
    { member: 'processes_left_over_time', cases: 3, reason: 'There is no process besides.' },
    { member: 'left_4_s_later', cases: 7, reason: 'There is no process besides.' },
    { member: 'left_4_s_later_count', cases: 7, reason: 'There is no process besides.' },
    { member: 'left_after_exit', cases: 7, reason: 'There is no process besides.' },
    { member: 'left_after_exit_count', cases: 7, reason: 'There is no process besides.' },
    {
      member: 'health_ready_0.3_s_after',
      cases: 6,
      reason: 'Connections are refused there; test/e2e/lifecycle.test.ts has what ours says while it stops.',
    },
    { member: 'in_flight', cases: 7, reason: 'How clients without an answer gave up, and for how long others waited.' },
    inWords('load', 6),
    inWords('note', 10),
    inWords('printed', 10),
    { member: 'commands', cases: 1, reason: 'There is no command line.' },
    { member: 'options', cases: 2, reason: 'There is no command line.' },
    { member: 'variables', cases: 1, reason: 'Three variables in words.' },
    { member: 'result', cases: 1, reason: 'Of options that are refused here.' },
  ],
  errors: [
    { member: 'again', cases: 1, reason: 'A second client that waited in vain.' },
    {
      member: 'health_ready_after_1_s',
      cases: 2,
      reason: 'PyTriton refuses connections for 20 s; ours is done by then.',
    },
    {
      member: 'other_model_after_1_s',
      cases: 2,
      reason: 'PyTriton refuses connections for 20 s; ours is done by then.',
    },
    {
      member: 'http',
      cases: 5,
      reason: 'Names of models, the length of a long text, and clients that waited in vain.',
    },
    { member: 'left_after_exit', cases: 2, reason: 'There is no process besides.' },
    { member: 'left_after_exit_count', cases: 2, reason: 'There is no process besides.' },
    { member: 'left_4_s_later', cases: 2, reason: 'There is no process besides.' },
    { member: 'left_4_s_later_count', cases: 2, reason: 'There is no process besides.' },
    { member: 'seconds_to_exit', cases: 2, reason: 'How long it took there.' },
    inWords('printed', 2),
    inWords('raised', 24),
    { member: 'server_alive', cases: 26, reason: 'That ours is alive shows in the answers to the next cases.' },
  ],
  clients: [
    { member: 'error.bases', cases: 153, reason: "Python's classes." },
    { member: 'error.type', cases: 153, reason: "Python's classes." },
    { member: 'result.with_scheme', cases: 19, reason: 'Said by scheme, host and port.' },
    { member: 'result.without_scheme', cases: 19, reason: 'Said by scheme, host and port.' },
    { member: 'seconds', cases: 225, reason: 'How long it took there.' },
    { member: 'inference_timeout_s', cases: 20, reason: 'How long the recorded clients waited; ours need not.' },
    { member: 'init_timeout_s', cases: 14, reason: 'How long the recorded clients waited; ours need not.' },
    inWords('note', 1),
  ],
  scenarios: [
    inWords('note', 4),
    { member: 'runs', cases: 224, reason: 'How often it was recorded.' },
    { member: 'largest_time_difference_ms', cases: 11, reason: 'How far the recordings were from each other.' },
    { member: 'arrivals[].run_ms', cases: 51, reason: 'Of requests that are not executed.' },
    { member: 'config.ragged', cases: 1, reason: 'There are no ragged batches; a rule says so.' },
    { member: 'empty_final_response', cases: 2, reason: 'What the recorder asked gRPC for: grpc/stream.jsonl.' },
    { member: 'seen.stream', cases: 3, reason: "Final flags are gRPC's: grpc/stream.jsonl." },
    { member: 'seen.answers', cases: 1, reason: 'Triton gives an answer without outputs; a rule says so.' },
    { member: 'seen.notes', cases: 9, reason: 'Moments and exit codes of a server; the scenario has the moments.' },
    { member: 'seen.probes', cases: 7, reason: 'Moments; the scenario has them.' },
    { member: 'seen.text', cases: 10, reason: 'That the load failed; the reason is in `server_log`.' },
    {
      member: 'seen_varies',
      cases: 43,
      reason:
        'Outcomes in which requests were left alone beside an idle instance, and what need not be looked at of others once one is known to be ours.',
    },
  ],
};

/** What is not as it should be after a replay, in words; empty when all is well. */
export function shortcomings(file: string, replay: WatchedReplay | undefined): string {
  return [summarize(replay), ...unreadMistakes(file, replay?.unread)].filter((text) => text !== '').join('\n');
}

/** How what was not read differs from the table. */
export function unreadMistakes(file: string, unread: Unread = new Map()): readonly string[] {
  const listed = UNREAD[file] ?? [];
  const found = new Map<string, Set<object>>(listed.map(({ member }) => [member, new Set()]));
  const unlisted: string[] = [];
  for (const [path, cases] of unread) {
    const above = listed
      .filter(({ member }) => path === member || path.startsWith(`${member}.`) || path.startsWith(`${member}[`))
      .sort((a, b) => b.member.length - a.member.length)[0];
    if (above === undefined) unlisted.push(`'${path}' is not read in ${cases.size} cases`);
    else for (const testCase of cases) found.get(above.member)!.add(testCase);
  }
  const wrong = listed.filter(({ member, cases }) => found.get(member)!.size !== cases);
  return [
    ...unlisted,
    ...wrong.map(({ member, cases }) => `'${member}' is not read in ${found.get(member)!.size} cases, not ${cases}`),
  ];
}
