// How answers are judged. An answer must be the recorded one; where ours differs on purpose a named rule says what
// it must be instead, and why. Which cases a rule is about follows from the recordings alone, no server is asked: each
// rule lists them, and one that covers others, or fewer, fails the suite.

export interface Rule<Case, Answer> {
  readonly name: string;
  /** Why our answer is better for the user, or what is missing. */
  readonly reason: string;
  /** What mends it, where ours is a known defect. The rule predicts the defect, so that the suite fails once it is mended. */
  readonly until?: string;
  /** The names of the recorded cases that the rule is about. */
  readonly cases: readonly string[];
  /** The answer to expect instead of `recorded`; undefined where the rule has nothing to say. */
  readonly expects?: (recorded: Answer, testCase: Case) => Answer | undefined;
  /** What the recording does not determine: both answers are compared without it. */
  readonly excuses?: Excuse<Answer>;
}

export interface Excuse<Answer> {
  /** What is not compared, in words. */
  readonly members: string;
  readonly without: (answer: Answer) => Answer;
}

export interface RuleCount {
  readonly name: string;
  readonly reason: string;
  readonly until: string | undefined;
  readonly excuses: string | undefined;
  /** What the rule says of itself. */
  readonly listed: readonly string[];
  /** Names of the cases that it changes. */
  readonly covers: readonly string[];
}

export interface Replay {
  readonly cases: number;
  /** Answers that agree without any rule. */
  readonly identical: number;
  readonly failures: readonly string[];
  readonly rules: readonly RuleCount[];
}

export type Differences<Answer> = (ours: Answer, expected: Answer) => string[];

interface Exchange<Case, Answer> {
  readonly testCase: Case;
  readonly recorded: Answer;
  readonly ours: Answer;
}

/** What our answer must be. */
export interface Expectation<Answer> {
  readonly answer: Answer;
  /** Names of the rules that changed it. */
  readonly rules: readonly string[];
  readonly excuses: readonly Excuse<Answer>[];
}

/** What the rules, one after the other, make of a recorded answer. */
export function expectationOf<Case extends { readonly name: string }, Answer>(
  rules: readonly Rule<Case, Answer>[],
  { testCase, recorded }: Pick<Exchange<Case, Answer>, 'testCase' | 'recorded'>,
  differences: Differences<Answer>,
): Expectation<Answer> {
  const used: string[] = [];
  const excuses: Excuse<Answer>[] = [];
  let answer = recorded;
  for (const { name, cases, expects, excuses: excuse } of rules) {
    if (!cases.includes(testCase.name)) continue;
    const next = expects?.(answer, testCase) ?? answer;
    const changes = next !== answer && differences(next, answer).length > 0;
    if (changes) answer = next;
    if (excuse !== undefined) excuses.push(excuse);
    if (changes || excuse !== undefined) used.push(name);
  }
  return { answer, rules: used, excuses };
}

/** How our answer differs from what it must be. */
export function differencesFrom<Answer>(
  { answer, excuses }: Expectation<Answer>,
  ours: Answer,
  differences: Differences<Answer>,
): string[] {
  const without = (whole: Answer) => excuses.reduce((rest, excuse) => excuse.without(rest), whole);
  return differences(without(ours), without(answer));
}

/** Collects exchanges and says in the end which differ without a rule. */
export class Verdict<Case extends { readonly name: string }, Answer> {
  readonly #rules: readonly Rule<Case, Answer>[];
  readonly #differences: Differences<Answer>;
  readonly #covers = new Map<string, string[]>();
  readonly #failures: string[] = [];
  #cases = 0;
  #identical = 0;

  constructor(rules: readonly Rule<Case, Answer>[], differences: Differences<Answer>) {
    this.#rules = rules;
    this.#differences = differences;
  }

  add({ testCase, recorded, ours }: Exchange<Case, Answer>): void {
    const expectation = this.expect({ testCase, recorded });
    const differences = differencesFrom(expectation, ours, this.#differences);
    if (differences.length === 0) return;
    const under =
      expectation.rules.length > 0 ? ` (under ${expectation.rules.map((name) => `'${name}'`).join(', ')})` : '';
    this.#failures.push(`${testCase.name}${under}\n    ${differences.join('\n    ')}`);
  }

  /** Whether the answer is right, without counting it. */
  accepts({ testCase, recorded, ours }: Exchange<Case, Answer>): boolean {
    const expectation = expectationOf(this.#rules, { testCase, recorded }, this.#differences);
    return differencesFrom(expectation, ours, this.#differences).length === 0;
  }

  /** Counts a case without an answer of ours. */
  expect(exchange: Pick<Exchange<Case, Answer>, 'testCase' | 'recorded'>): Expectation<Answer> {
    this.#cases++;
    const expectation = expectationOf(this.#rules, exchange, this.#differences);
    if (expectation.rules.length === 0) this.#identical++;
    for (const name of expectation.rules) {
      const names = this.#covers.get(name) ?? [];
      this.#covers.set(name, [...names, exchange.testCase.name]);
    }
    return expectation;
  }

  replay(): Replay {
    return {
      cases: this.#cases,
      identical: this.#identical,
      failures: this.#failures,
      rules: this.#rules.map(({ name, reason, until, cases, excuses }) => ({
        name,
        reason,
        until,
        excuses: excuses?.members,
        listed: cases,
        covers: this.#covers.get(name) ?? [],
      })),
    };
  }
}

/** The first failures, one below the other: short enough to read, empty when there are none. */
export function summarize(replay: Replay | undefined): string {
  if (replay === undefined) return 'not replayed';
  const { cases, failures } = replay;
  const shown = 20;
  if (failures.length === 0) return '';
  const rest = failures.length > shown ? `\n… and ${failures.length - shown} more` : '';
  return `${failures.length} of ${cases} answers differ:\n${failures.slice(0, shown).join('\n')}${rest}`;
}

/** Adds up the cases of several replays, rule by rule: rules are told apart by their names. */
export function totals(replays: readonly Replay[]): readonly RuleCount[] {
  const sums = new Map<string, RuleCount>();
  for (const rule of replays.flatMap(({ rules }) => rules)) {
    sums.set(rule.name, { ...rule, covers: [...(sums.get(rule.name)?.covers ?? []), ...rule.covers] });
  }
  return [...sums.values()];
}

/** Rules that cover other cases than they list. */
export function misstated(rules: readonly RuleCount[]): readonly string[] {
  return rules.flatMap(({ name, listed, covers }) => {
    const idle = listed.filter((testCase) => !covers.includes(testCase));
    return idle.map((testCase) => `'${name}' lists '${testCase}' and changes nothing there`);
  });
}

/** Rules of one list for another one's cases, by name with the cases that they are about there. */
export function borrowed<Case, Answer>(
  rules: readonly Rule<Case, Answer>[],
  casesOf: Readonly<Record<string, readonly string[]>>,
): readonly Rule<Case, Answer>[] {
  return Object.entries(casesOf).map(([name, cases]) => {
    const rule = rules.find((each) => each.name === name);
    if (rule === undefined) throw new Error(`no rule is named '${name}'`);
    return { ...rule, cases };
  });
}

/** Text short enough for a failure line. */
export function clip(text: string, length = 300): string {
  return text.length <= length ? text : `${text.slice(0, length)}… (${text.length} characters)`;
}
