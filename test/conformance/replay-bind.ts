// Makes PyTriton's recorded `bind` calls on a Triton of ours and holds what `/config` and metadata then say, or the
// refusal, against what PyTriton and Triton made of them.
import type { Triton } from 'tstriton';
import { bindCall } from './bind-models.js';
import { renamed, type BindCase } from './cases.js';
import { describeRefusal, isSameRefusal, refusalOf, type Refusal } from './refusal.js';
import { clip, Verdict, type Replay, type Rule } from './rules.js';

export interface BindAnswer {
  /** How `bind` refused; undefined when the model is served. */
  readonly refused: Refusal | undefined;
  readonly config: Told;
  readonly metadata: Told;
}

/** What an endpoint answers. */
export interface Told {
  readonly status: number;
  readonly body: JsonRecord;
}

export type JsonRecord = Readonly<Record<string, unknown>>;
export type NamedCase = BindCase & { readonly name: string };
export type BindRule = Rule<NamedCase, BindAnswer>;

/** Binds all cases, runs the server, and asks it; `triton` is running afterwards. */
export async function replayBind(
  cases: readonly BindCase[],
  triton: Triton,
  rules: readonly BindRule[],
): Promise<Replay> {
  const verdict = new Verdict<NamedCase, BindAnswer>(rules, differencesOf);
  const refusals = new Map(cases.map((testCase) => [testCase, bindRefusal(testCase, triton)]));
  await triton.run();
  for (const bindCase of cases) {
    const testCase = named(bindCase);
    const path = `http://127.0.0.1:${triton.httpPort}/v2/models/${testCase.name}`;
    const [config, metadata] = await Promise.all([getJson(`${path}/config`), getJson(path)]);
    const ours: BindAnswer = { refused: refusals.get(bindCase), config, metadata };
    verdict.add({ testCase, recorded: recordedAnswer(bindCase), ours });
  }
  return verdict.replay();
}

export function named(bindCase: BindCase): NamedCase {
  return renamed(bindCase, bindCase.bind.model_name);
}

/** A refusal names the model. */
function bindRefusal(testCase: BindCase, triton: Triton): Refusal | undefined {
  const { model_name: name } = testCase.bind;
  try {
    triton.bind(bindCall(testCase));
    return undefined;
  } catch (error) {
    const { code, text } = refusalOf(error);
    return text.includes(`model '${name}'`) ? { code, text } : { code, text: `names no model: ${text}` };
  }
}

export function recordedAnswer(testCase: BindCase): BindAnswer {
  const { config_status: status, config, metadata_status: metadataStatus, metadata, error } = testCase;
  return {
    refused: error === undefined ? undefined : { code: 'INVALID_ARG', text: error.message },
    config: { status, body: config },
    metadata: { status: metadataStatus, body: metadata },
  };
}

async function getJson(url: string): Promise<Told> {
  const response = await fetch(url);
  return { status: response.status, body: (await response.json()) as JsonRecord };
}

export function differencesOf(ours: BindAnswer, expected: BindAnswer): string[] {
  if (!isSameRefusal(ours.refused, expected.refused)) {
    return [`expected ${describeRefusal(expected.refused)}, got ${describeRefusal(ours.refused)}`];
  }
  return (['config', 'metadata'] as const).flatMap((part) => [
    ...(ours[part].status === expected[part].status
      ? []
      : [`${part}: expected status ${expected[part].status}, got ${ours[part].status}`]),
    ...memberDifferences(part, ours[part].body, expected[part].body),
  ]);
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
