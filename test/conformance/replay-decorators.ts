// Runs PyTriton's recorded decorator cases on our decorators, with the checks of a server, and holds what
// the decorated function got and what each request was answered against the recording.
import { batch } from '../../src/callables/batch.js';
import { constantPadder } from '../../src/callables/constant-padder.js';
import { fillOptionals } from '../../src/callables/fill-optionals.js';
import { firstValue } from '../../src/callables/first-value.js';
import { groupByKeys } from '../../src/callables/group-by-keys.js';
import { groupByValues } from '../../src/callables/group-by-values.js';
import { padBatch } from '../../src/callables/pad-batch.js';
import { sample } from '../../src/callables/sample.js';
import { TritonError } from '../../src/errors.js';
import { expectResults, type HostResult, type HostStream } from '../../src/host/host-results.js';
import { runSteps } from '../../src/host/run-steps.js';
import type { Callable, ModelSpec } from '../../src/model/callable.js';
import { checkCallables } from '../../src/model/check-callables.js';
import type { CompleteModelConfig } from '../../src/model/complete-model-config.js';
import { completeModelConfig } from '../../src/model/complete-model.js';
import { HostedRequest } from '../../src/model/inference-request.js';
import { resolveOutputs, type ResolvedOutputs } from '../../src/model/resolve-outputs.js';
import type { TensorSpec, TensorSpecs } from '../../src/model/tensor-spec.js';
import type { Tensor } from '../../src/tensor/tensor.js';
import { callWith } from '../support/decorated-call.js';
import { FUNCTIONS, type RecordedFunction } from './decorated-functions.js';
import {
  describeRecord,
  dtypeOfRecorded,
  isRecordedTensor,
  tensorOf,
  type DecoratorCase,
  type RecordedTensors,
} from './pytriton-cases.js';
import { describeRefusal, isSameRefusal, refusalOf, type Refusal } from './refusal.js';
import { Verdict, type Replay, type Rule } from './rules.js';

export interface DecoratorAnswer {
  /** What the decorated function got, call by call. */
  readonly calls: readonly string[];
  /** What became of each request: outputs, several with ` then ` between them, or `error`. */
  readonly results: readonly string[];
  /** What the errors are, each once. */
  readonly errors: readonly Refusal[];
}
export type DecoratorRule = Rule<DecoratorCase, DecoratorAnswer>;

export async function replayDecorators(
  cases: readonly DecoratorCase[],
  rules: readonly DecoratorRule[],
): Promise<Replay> {
  const verdict = new Verdict<DecoratorCase, DecoratorAnswer>(rules, differencesOf);
  for (const testCase of cases) {
    verdict.add({ testCase, recorded: recordedAnswer(testCase), ours: await ourAnswer(testCase) });
  }
  return verdict.replay();
}

export function differencesOf(ours: DecoratorAnswer, expected: DecoratorAnswer): string[] {
  const differences = (['calls', 'results'] as const).flatMap((part) => {
    const [wanted, got] = [expected[part], ours[part]].map((lines) => lines.join('\n        '));
    return wanted === got ? [] : [`${part}: expected ${wanted}\n      got ${got}`];
  });
  const [got, wanted] = [ours.errors, expected.errors];
  const same = got.length === wanted.length && got.every((error, index) => isSameRefusal(error, wanted[index]));
  const describe = (errors: readonly Refusal[]) => errors.map(describeRefusal).join('; ') || 'no error';
  return same ? differences : [...differences, `errors: expected ${describe(wanted)}\n      got ${describe(got)}`];
}

export function recordedAnswer({ calls, requests, returns, yields, error }: DecoratorCase): DecoratorAnswer {
  const described = calls.map(({ positional, named }) => {
    const lists = positional.map((list) => `[${list.map(describeRecord).join('; ')}]`).join();
    return lists + (lists === '' || Object.keys(named).length > 0 ? describeRecord(named) : '');
  });
  const results = requests.map((_, index) => {
    const steps = (yields ?? []).map((step) => describeRecord(step[index]!));
    if (error !== undefined) steps.push('error');
    else if (index < (returns?.length ?? 0)) steps.push(describeRecord(returns![index] as RecordedTensors));
    return steps.join(' then ') || 'nothing';
  });
  const errors = error === undefined ? [] : [{ code: 'INVALID_ARG' as const, text: error.message }];
  return { calls: described, results, errors };
}

async function ourAnswer(testCase: DecoratorCase): Promise<DecoratorAnswer> {
  const calls: string[] = [];
  const requests = testCase.requests.map(({ data, parameters }) => {
    const inputs = tensorsOf(data);
    return new HostedRequest(inputs, Object.values(inputs)[0]?.shape[0] ?? 1, '', { ...parameters });
  });
  // Recorded to see what the decorator injects.
  if (testCase.fn === undefined && testCase.error === undefined)
    return { calls: ['not asked'], results: [], errors: [] };
  // What is refused without a call is refused around any function, where it may stand.
  const { fn = '{y:x}', decorator } = testCase;
  const recorded = FUNCTIONS[fn];
  if (recorded === undefined) throw new Error(`unknown function ${fn}`);
  try {
    const config = configOf(testCase, recorded);
    const whole = testCase.fn === undefined ? { ...testCase, decorator: `batch + ${decorator}` } : testCase;
    const callable = decorate(whole, recording(recorded, testCase, calls));
    checkCallables(callable, config.name, config);
    return { calls, ...(await answer(callable, requests, config)) };
  } catch (error) {
    return { calls, results: requests.map(() => 'error'), errors: [refusalOf(error)] };
  }
}

function tensorsOf(data: RecordedTensors): Record<string, Tensor> {
  return Object.fromEntries(Object.entries(data).map(([name, tensor]) => [name, tensorOf(tensor)]));
}

/** The function as users write it, noting its calls. */
function recording(recorded: RecordedFunction, { decorator }: DecoratorCase, calls: string[]): unknown {
  const innermost = decorator.split(' + ').at(-1);
  const context = innermost === 'triton_context' ? { triton_context: 'context' } : {};
  if (recorded.ofRequests !== undefined && !/batch|sample/.test(decorator)) {
    return (requests: readonly HostedRequest[]) => {
      const lists = `[${requests.map(({ inputs }) => describeRecord(inputs)).join('; ')}]`;
      calls.push(lists + (innermost === 'triton_context' ? describeRecord(context) : ''));
      return recorded.ofRequests!(requests);
    };
  }
  return (values: Readonly<Record<string, never>>) => {
    calls.push(describeRecord({ ...values, ...context }));
    return recorded.ofTensors!(values);
  };
}

type Decorator = (fn: never, args: DecoratorCase['args']) => unknown;

const DECORATORS: Readonly<Record<string, Decorator>> = {
  batch: (fn) => batch(fn),
  sample: (fn) => sample(fn),
  group_by_keys: (fn) => groupByKeys(fn),
  group_by_values: (fn, { keys, group, pad_fn: padFn }) => {
    const value = /ConstantPadder\((.*)\)/.exec(String(padFn))?.[1];
    return groupByValues(
      (group ?? keys) as never,
      fn,
      value === undefined ? {} : { padFn: constantPadder(Number(value)) },
    );
  },
  fill_optionals: (fn, { keys: _keys, ...defaults }) =>
    fillOptionals(
      Object.fromEntries(
        Object.entries(defaults).map(([name, value]) => [name, isRecordedTensor(value) ? tensorOf(value) : value]),
      ) as never,
      fn,
    ),
  first_value: (fn, { keys, first, strict, squeeze_single_values: squeeze }) =>
    firstValue((first ?? keys) as never, fn, {
      ...(strict === undefined ? {} : { strict: strict as boolean }),
      ...(squeeze === undefined ? {} : { squeezeSingleValues: squeeze as boolean }),
    }),
  pad_batch: (fn) => padBatch(fn),
  // Every function gets the context.
  triton_context: (fn) => fn,
};

function decorate({ decorator, args }: DecoratorCase, fn: unknown): Callable {
  return decorator.split(' + ').reduceRight((inner, name) => DECORATORS[name]!(inner as never, args), fn) as Callable;
}

/** The model that the case was bound to, or one that its requests and results fit. */
function configOf(testCase: DecoratorCase, { outputs, streams }: RecordedFunction): CompleteModelConfig {
  const { model = {}, decorator, name } = testCase;
  const batching = model.batching ?? !(/sample/.test(decorator) || name === 'first_value-non-batching-model');
  const { preferred_batch_size: preferred } = model;
  const inputs = inputsOf(testCase, batching);
  return completeModelConfig(
    {
      modelName: 'm',
      inputs,
      outputs: outputsOf(testCase, outputs) ?? withoutOptional(inputs),
      config: {
        batching,
        ...(batching ? { maxBatchSize: model.max_batch_size ?? 16 } : {}),
        decoupled: streams ?? false,
        ...(model.batcher === null
          ? { batcher: null }
          : preferred
            ? { batcher: { preferredBatchSize: preferred } }
            : {}),
      },
    } satisfies ModelSpec,
    1,
  );
}

function inputsOf({ model, requests, decorator }: DecoratorCase, batching: boolean): TensorSpecs {
  const specs: Record<string, Omit<TensorSpec, 'name'>> = {};
  for (const input of model?.inputs ?? []) {
    if (typeof input === 'string') continue;
    specs[input[0]] = { dtype: dtypeOfRecorded(input[1]), shape: input[2], optional: input[3] === 'optional' };
  }
  for (const [name, { dtype, shape }] of requests.flatMap(({ data }) => Object.entries(data))) {
    const own = batching ? shape.slice(1) : shape;
    const optional = decorator.includes('group_by_keys') || requests.some(({ data }) => data[name] === undefined);
    specs[name] ??= { dtype: dtypeOfRecorded(dtype), shape: own.map((dim) => Math.max(dim, 1)), optional };
  }
  return specs;
}

function withoutOptional(inputs: TensorSpecs): TensorSpecs {
  return Object.fromEntries(Object.entries(inputs).map(([name, { dtype, shape }]) => [name, { dtype, shape }]));
}

/** Undefined where outputs are what the inputs are. */
function outputsOf(
  { model, returns, yields, fn }: DecoratorCase,
  declared: RecordedFunction['outputs'],
): TensorSpecs | undefined {
  const specs: Record<string, Omit<TensorSpec, 'name'>> = {};
  for (const name of model?.outputs ?? []) specs[name] = { dtype: 'float32', shape: [-1] };
  for (const [name, dtype] of Object.entries(declared ?? {})) specs[name] ??= { dtype, shape: [-1] };
  const shown = [...(returns ?? []), ...(yields ?? []).flat()] as RecordedTensors[];
  if (model?.outputs === undefined) {
    for (const [name, tensor] of shown.flatMap((outputs) => Object.entries(outputs))) {
      if (isRecordedTensor(tensor)) specs[name] ??= { dtype: dtypeOfRecorded(tensor.dtype), shape: [-1] };
    }
  }
  const echoes = fn !== undefined && FUNCTIONS[fn]?.ofRequests !== undefined && declared === undefined;
  return echoes || (Object.keys(specs).length === 0 && fn !== '{}') ? undefined : specs;
}

/** What becomes of each request when a server runs the callable. */
async function answer(
  callable: Callable,
  requests: readonly HostedRequest[],
  config: CompleteModelConfig,
): Promise<Pick<DecoratorAnswer, 'results' | 'errors'>> {
  const errors: Refusal[] = [];
  const answers: string[][] = requests.map(() => []);
  const respond = (index: number, outputs: ResolvedOutputs) => {
    const named = outputs.flatMap((tensor, place) =>
      tensor === undefined ? [] : [[config.outputs[place]!.name, tensor]],
    );
    answers[index]!.push(describeRecord(Object.fromEntries(named) as Record<string, Tensor>));
  };
  const fail = (index: number, error: TritonError) => {
    answers[index]!.push('error');
    const refusal = refusalOf(error);
    if (!errors.some((known) => isSameRefusal(refusal, known))) errors.push(refusal);
  };
  const resolve = (result: unknown, index: number): HostResult => {
    try {
      return TritonError.is(result) ? result : resolveOutputs(result, config, requests[index]!.rows);
    } catch (error) {
      return TritonError.from(error);
    }
  };
  try {
    const result = await callWith(config, callable, requests).result;
    if (config.decoupled) {
      const stream: HostStream = {
        respond,
        end: (index, error) => (error === undefined ? undefined : fail(index, error)),
      };
      await runSteps(result, {
        requests,
        stream,
        model: config.name,
        resolve: (step, index) => ({ outcome: resolve(step, index), more: undefined }),
        failAll: (thrown, indices) => indices.map(() => TritonError.from(thrown)),
      });
    } else {
      expectResults(result, requests.length, config.name).forEach((item, index) => {
        const outcome = resolve(item, index);
        if (TritonError.is(outcome)) fail(index, outcome);
        else respond(index, outcome);
      });
    }
  } catch (error) {
    requests.forEach((_, index) => fail(index, TritonError.from(error)));
  }
  return { results: answers.map((all) => all.join(' then ') || 'nothing'), errors };
}
