// Does with our server what PyTriton's life cycle was recorded with, and holds what came of it against PyTriton's.
import { CONFIG_ASKERS, outcomeOf } from './lifecycle-config.js';
import { renamed } from './cases.js';
import { inferText, labelOf, restrictedText, type LifecycleCase } from './lifecycle-cases.js';
import { runningAskers } from './lifecycle-running.js';
import { describeRefusal, isSameRefusal, type Refusal } from './refusal.js';
import { Verdict, type Replay, type Rule } from './rules.js';
import { signalServer } from './signalled-server.js';

export interface LifecycleAnswer {
  /** In words: `refused`, `accepted`, `200 200 200 exit 0`; `not asked` where our server has nothing of the kind. */
  readonly found: string;
  readonly refusal: Refusal | undefined;
}
export type LifecycleRule = Rule<LifecycleCase, LifecycleAnswer>;

/** What comes of a signal; undefined for cases without one. */
function askSignal(testCase: LifecycleCase): Promise<string> | undefined {
  const { how = '', signal, in_flight: inFlight = [], requests_in_flight: count = inFlight.length } = testCase;
  if (testCase.name === 'sigterm-timeline') return signalServer({ how, signal: 'SIGTERM', inFlight: count });
  return signal === undefined ? undefined : signalServer({ how, signal, inFlight: count });
}

export async function replayLifecycle(
  cases: readonly LifecycleCase[],
  rules: readonly LifecycleRule[],
): Promise<Replay> {
  const askers = { ...CONFIG_ASKERS, ...runningAskers() };
  // In processes of their own, all at once.
  const signalled = new Map(
    await Promise.all(cases.map(async (testCase) => [testCase, await askSignal(testCase)] as const)),
  );
  const verdict = new Verdict<LifecycleCase, LifecycleAnswer>(rules, differencesOf);
  for (const testCase of inOrder(cases)) {
    const signal = signalled.get(testCase);
    const ask = signal === undefined ? askers[testCase.name] : () => signal;
    const ours = ask === undefined ? { found: 'not asked', refusal: undefined } : await outcomeOf(() => ask(testCase));
    verdict.add({ testCase: labelled(testCase), recorded: recordedAnswer(testCase), ours });
  }
  return verdict.replay();
}

/** What was seen by hand is written down last, but needs a server that still runs. */
function inOrder(cases: readonly LifecycleCase[]): readonly LifecycleCase[] {
  const late = cases.filter(({ name }) => name === 'bind-after-failed-load');
  const stop = cases.findIndex(({ name }) => name === 'stop');
  const rest = (part: readonly LifecycleCase[]) => part.filter((testCase) => !late.includes(testCase));
  return [...rest(cases.slice(0, stop)), ...late, ...rest(cases.slice(stop))];
}

export function labelled(testCase: LifecycleCase): LifecycleCase {
  return renamed(testCase, labelOf(testCase));
}

export function differencesOf(ours: LifecycleAnswer, expected: LifecycleAnswer): string[] {
  const describe = ({ found, refusal }: LifecycleAnswer) =>
    refusal === undefined ? found : `${found} with ${describeRefusal(refusal)}`;
  return ours.found === expected.found && isSameRefusal(ours.refusal, expected.refusal)
    ? []
    : [`expected ${describe(expected)}, got ${describe(ours)}`];
}

export function recordedAnswer(testCase: LifecycleCase): LifecycleAnswer {
  const { error } = testCase;
  return error === undefined
    ? { found: recordedFinding(testCase), refusal: undefined }
    : { found: 'refused', refusal: { code: 'INVALID_ARG', text: error.message } };
}

function recordedFinding(testCase: LifecycleCase): string {
  const { name, result, observed, exit_code: exitCode, in_flight: inFlight = [] } = testCase;
  if (observed !== undefined) return `seen: ${observed}`;
  if (testCase.signal !== undefined || name === 'sigterm-timeline') {
    return [...inFlight.map(recordedOnTheWay), 'exit', exitCode].join(' ');
  }
  if (name === 'port-taken') return exitCode === 0 ? 'accepted' : 'never returns';
  if (name === 'metrics-port') return String(testCase.without_token);
  if (name === 'environment-variable') return recordedOptions(result as object);
  if (name === 'environment-list-order') return `metricsConfig=${JSON.stringify(result)}`;
  if (name === 'security-config') return `a token of ${(result as { readonly token_length: number }).token_length}`;
  if (name.startsWith('is_')) return String(result);
  if (testCase.v1 !== undefined) return [testCase.v1, testCase.v2, testCase.latest].map((answer) => inferText(...answer!)).join(' ');
  if (name === 'restricted-http') return recordedStatuses(testCase);
  if (name === 'restricted-grpc') {
    const { without_token: without, bare_header: bare, wrong_token: wrong, with_token: right } = testCase;
    return [without, bare, wrong, right].map((answer) => String(answer).replace('StatusCode.UNAVAILABLE:', '14')).join('; ');
  }
  return 'accepted';
} // prettier-ignore

function recordedOnTheWay({ status, body }: NonNullable<LifecycleCase['in_flight']>[number]): string {
  return status === undefined ? 'unanswered' : inferText(status, body as string);
}

function recordedOptions(result: object): string {
  const options = Object.entries(result).map(([name, value]) => {
    const option = name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
    return `${option}=${JSON.stringify(value)}`;
  });
  return options.length === 0 ? 'ignored' : options.join(' ');
}

function recordedStatuses({ without_token: without, ...others }: LifecycleCase): string {
  const [code, text] = without as readonly [number, string];
  const status = restrictedText(code, text);
  const { wrong_token: wrong, with_token: right, header_in_capitals: capitals } = others;
  return wrong === undefined ? String(status) : [status, wrong, right, capitals].join(' ');
}
