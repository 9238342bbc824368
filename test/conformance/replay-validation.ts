// Binds models whose callables return what PyTriton's checks were recorded with, asks them over HTTP, and holds the
// answers against PyTriton's.
import type { TensorSpec, Triton } from 'tstriton';
import { renamed } from './cases.js';
import type { ValidationCase } from './pytriton-cases.js';
import { Verdict, type Replay, type Rule } from './rules.js';
import { CALLABLES } from './validated-callables.js';

export interface ValidationAnswer {
  /** `no answer` is PyTriton's alone. */
  readonly status: number | 'no answer';
  /** Name and version of the model; empty for an error. */
  readonly model: string;
  /** `y FP32[1,1] [1]`; empty for an error. */
  readonly outputs: readonly string[];
  /** The text of an error; of an expected one a part. */
  readonly error: string;
}
export type ValidationRule = Rule<ValidationCase, ValidationAnswer>;

/** Binds all cases on `triton`, runs it, and asks; `triton` is running afterwards. */
export async function replayValidation(
  cases: readonly ValidationCase[],
  triton: Triton,
  rules: readonly ValidationRule[],
): Promise<Replay> {
  for (const testCase of cases) bindCase(testCase, triton);
  await triton.run();
  const verdict = new Verdict<ValidationCase, ValidationAnswer>(rules, differencesOf);
  for (const testCase of cases) {
    const ours = await ask(testCase, triton.httpPort ?? 0);
    verdict.add({ testCase: labelled(testCase), recorded: recordedAnswer(testCase), ours });
  }
  return verdict.replay();
}

/** The case with a name that no other has. */
export function labelled(testCase: ValidationCase): ValidationCase {
  const { name, strict } = testCase;
  return renamed(testCase, `${name}${strict ? ' (strict)' : ''}`);
}

export function differencesOf(ours: ValidationAnswer, expected: ValidationAnswer): string[] {
  const describe = ({ status, model, outputs, error }: ValidationAnswer) =>
    [status, model, ...outputs, error].join(' ').trim();
  const same =
    ours.status === expected.status &&
    ours.model === expected.model &&
    ours.outputs.join() === expected.outputs.join() &&
    (expected.error === '' ? ours.error === '' : ours.error.includes(expected.error));
  return same ? [] : [`expected ${describe(expected)}, got ${describe(ours)}`];
}

/** As the recorded models were called. */
export function modelName({ name, strict }: ValidationCase): string {
  return `${strict ? 'S' : 'L'}_${name.replace(' (strict)', '')}`;
}

function bindCase(testCase: ValidationCase, triton: Triton): void {
  const inferFunc = CALLABLES[testCase.name];
  if (inferFunc === undefined) throw new Error(`unknown callable ${testCase.name}`);
  const outputs = testCase.outputs.map(({ name, dtype, shape }): TensorSpec => ({
    name,
    dtype: dtype === 'STRING' ? 'bytes' : (dtype as 'FP32'),
    shape,
  }));
  triton.bind({
    modelName: modelName(testCase),
    inferFunc: inferFunc as never,
    inputs: [{ name: 'x', dtype: 'float32', shape: [1] }],
    outputs,
    config: { maxBatchSize: 4 },
    strict: testCase.strict,
  });
}

/** The recorded requests: one row, or two where two rows show something. */
const TWO_ROWS = ['string_object_mixed', 'not_contiguous', 'fortran_order'];

async function ask(testCase: ValidationCase, port: number): Promise<ValidationAnswer> {
  const data = TWO_ROWS.includes(testCase.name) ? [1, 2] : [1];
  const response = await fetch(`http://127.0.0.1:${port}/v2/models/${modelName(testCase)}/infer`, {
    method: 'POST',
    body: JSON.stringify({ inputs: [{ name: 'x', datatype: 'FP32', shape: [data.length, 1], data }] }),
  });
  const body = (await response.json()) as Body;
  // PyTriton sends its clients the server's stack.
  if (/\n\s+at |file:|\.[jt]s:/.test(body.error ?? ''))
    throw new Error(`an answer tells the server's files: ${body.error}`);
  return describe(response.status, body);
}

type Body = NonNullable<ValidationCase['http']['body']>;

export function recordedAnswer({ http }: ValidationCase): ValidationAnswer {
  return http.status === undefined
    ? { status: 'no answer', model: '', outputs: [], error: '' }
    : describe(http.status, http.body ?? {});
}

function describe(status: number, { model_name: model, model_version: version, outputs, error = '' }: Body) {
  const described = (outputs ?? []).map(
    ({ name, datatype, shape, data }) => `${name} ${datatype}[${shape.join(',')}] ${JSON.stringify(data)}`,
  );
  return { status, model: model === undefined ? '' : `${model} ${version}`, outputs: described, error };
}
