// How answers are judged. An answer must be the recorded one; where ours differs on purpose a named rule says what
// it must be instead, and why. A rule that turns out to change nothing fails the suite, so that none outlives its cause.

export interface Rule<Case, Answer> {
  readonly name: string;
  /** Why our answer is better for the user, or what is missing. */
  readonly reason: string;
  /** The issue that brings the feature; the rule goes when it is resolved. */
  readonly until?: number;
  /** The answer to expect instead of `recorded`; undefined where the rule has nothing to say. */
  readonly expects?: (recorded: Answer, testCase: Case) => Answer | undefined;
  /** Where the recording does not determine our answer: whether `ours` is one that the rule allows. */
  readonly allows?: (ours: Answer, recorded: Answer, testCase: Case) => boolean;
}

export interface RuleCount {
  readonly name: string;
  readonly reason: string;
  readonly until: number | undefined;
  readonly cases: number;
}

export interface Replay {
  readonly cases: number;
  /** Answers that agree without any rule. */
  readonly identical: number;
  readonly failures: readonly string[];
  readonly rules: readonly RuleCount[];
}

interface Exchange<Case, Answer> {
  readonly testCase: Case;
  readonly recorded: Answer;
  readonly ours: Answer;
}

/** Collects exchanges and says in the end which differ without a rule. */
export class Verdict<Case extends { readonly name: string }, Answer> {
  readonly #rules: readonly Rule<Case, Answer>[];
  readonly #differences: (ours: Answer, expected: Answer) => string[];
  readonly #counts = new Map<string, number>();
  readonly #failures: string[] = [];
  #cases = 0;
  #identical = 0;

  constructor(rules: readonly Rule<Case, Answer>[], differences: (ours: Answer, expected: Answer) => string[]) {
    this.#rules = rules;
    this.#differences = differences;
  }

  add({ testCase, recorded, ours }: Exchange<Case, Answer>): void {
    this.#cases++;
    const used: string[] = [];
    let expected = recorded;
    for (const rule of this.#rules) {
      const next = rule.expects?.(expected, testCase);
      if (next === undefined || this.#differences(next, expected).length === 0) continue;
      expected = next;
      used.push(rule.name);
    }
    const differences = this.#differences(ours, expected);
    if (differences.length > 0) {
      const allowing = this.#rules.find((rule) => rule.allows?.(ours, expected, testCase));
      if (allowing === undefined) {
        const under = used.length > 0 ? ` (under ${used.map((name) => `'${name}'`).join(', ')})` : '';
        this.#failures.push(`${testCase.name}${under}\n    ${differences.join('\n    ')}`);
        return;
      }
      used.push(allowing.name);
    }
    if (used.length === 0) this.#identical++;
    for (const name of used) this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
  }

  replay(): Replay {
    return {
      cases: this.#cases,
      identical: this.#identical,
      failures: this.#failures,
      rules: this.#rules.map(({ name, reason, until }) => ({
        name,
        reason,
        until,
        cases: this.#counts.get(name) ?? 0,
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

/** Adds up the counts of several replays under the same rules. */
export function totals(replays: readonly Replay[]): readonly RuleCount[] {
  const [first] = replays;
  return (first?.rules ?? []).map((rule, index) => ({
    ...rule,
    cases: replays.reduce((sum, replay) => sum + (replay.rules[index]?.cases ?? 0), 0),
  }));
}

/** Text short enough for a failure line. */
export function clip(text: string, length = 300): string {
  return text.length <= length ? text : `${text.slice(0, length)}… (${text.length} characters)`;
}
