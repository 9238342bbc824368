// Makes PyTriton's recorded `bind` calls on a Triton of ours and holds what `/config` and metadata then say, or the
// refusal, against what PyTriton and Triton made of them.
import { TritonError, type ErrorCode, type Triton } from 'tstriton';
import { bindCall } from './bind-models.js';
import type { BindCase } from './cases.js';
import { clip, Verdict, type Replay, type Rule } from './rules.js';

export interface BindAnswer {
  /** The code with which `bind` refused; undefined when the model is served. */
  readonly refused: ErrorCode | undefined;
  readonly config: JsonRecord | undefined;
  readonly metadata: JsonRecord | undefined;
}

export type JsonRecord = Readonly<Record<string, unknown>>;
type NamedCase = BindCase & { readonly name: string };
export type BindRule = Rule<NamedCase, BindAnswer>;

/** Binds all cases, runs the server, and asks it; `triton` is running afterwards. */
export async function replayBind(
  cases: readonly BindCase[],
  triton: Triton,
  rules: readonly BindRule[],
): Promise<Replay> {
  const verdict = new Verdict<NamedCase, BindAnswer>(rules, differencesOf);
  const refusals = new Map(cases.map((testCase) => [testCase, refusalOf(testCase, triton)]));
  await triton.run();
  for (const bindCase of cases) {
    const testCase = { ...bindCase, name: bindCase.bind.model_name };
    const refused = refusals.get(bindCase);
    const path = `http://127.0.0.1:${triton.httpPort}/v2/models/${testCase.name}`;
    const ours: BindAnswer =
      refused === undefined
        ? { refused, config: await getJson(`${path}/config`), metadata: await getJson(path) }
        : { refused, config: undefined, metadata: undefined };
    verdict.add({ testCase, recorded: recordedAnswer(bindCase), ours });
  }
  return verdict.replay();
}

/** A refusal must be a TritonError that names the model and says more than that. */
function refusalOf(testCase: BindCase, triton: Triton): ErrorCode | undefined {
  try {
    triton.bind(bindCall(testCase));
    return undefined;
  } catch (error) {
    const { model_name: name } = testCase.bind;
    if (!TritonError.is(error)) throw new Error(`bind of ${name} threw ${String(error)}`, { cause: error });
    if (!error.message.includes(`model '${name}'`))
      throw new Error(`bind of ${name} does not name it: ${error.message}`);
    return error.code;
  }
}

export function recordedAnswer({ config_status: status, config, metadata }: BindCase): BindAnswer {
  return status === 200
    ? { refused: undefined, config, metadata }
    : { refused: 'INVALID_ARG', config: undefined, metadata: undefined };
}

async function getJson(url: string): Promise<JsonRecord> {
  const response = await fetch(url);
  return (await response.json()) as JsonRecord;
}

function differencesOf(ours: BindAnswer, expected: BindAnswer): string[] {
  if (ours.refused !== expected.refused) {
    const describe = ({ refused }: BindAnswer) => (refused === undefined ? 'served' : `refused with ${refused}`);
    return [`expected ${describe(expected)}, got ${describe(ours)}`];
  }
  return (['config', 'metadata'] as const).flatMap((part) =>
    memberDifferences(part, ours[part] ?? {}, expected[part] ?? {}),
  );
}

function memberDifferences(part: string, ours: JsonRecord, expected: JsonRecord): string[] {
  const members = new Set([...Object.keys(expected), ...Object.keys(ours)]);
  return [...members].flatMap((member) => {
    const [wanted, got] = [JSON.stringify(expected[member]), JSON.stringify(ours[member])];
    // Both are written in the same order by the two servers, maps with number keys apart.
    return wanted === got || sameMembers(expected[member], ours[member])
      ? []
      : [`${part}.${member}: expected ${clip(String(wanted))}\n      got ${clip(String(got))}`];
  });
}

function sameMembers(a: unknown, b: unknown): boolean {
  if (typeof a !== 'object' || a === null || typeof b !== 'object' || b === null) return Object.is(a, b);
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && sameMembers((a as JsonRecord)[key], (b as JsonRecord)[key]))
  );
}
