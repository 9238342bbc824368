// Replays the recorded configurations of Triton's sequence batcher: whether they load, why not, and how they are shown.
import { fromBinary, toJson } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';

import { TritonError } from '../../src/errors.js';
import { completeModelConfig } from '../../src/model/complete-model.js';
import { canonical, type ConfigJson } from '../../src/protocol/config-message.js';
import { modelConfigJson } from '../../src/protocol/model-config-json.js';
import { ModelConfig } from '../../src/protocol/protobuf/generated/model-config.js';
import { type JsonValue, messageFromJson } from '../../src/protocol/protobuf/message-json.js';
import { writeMessage } from '../../src/protocol/protobuf/write-message.js';
import { sequenceBatchingOf, shownState } from '../../src/protocol/sequence-batching-json.js';
import { ModelConfigSchema } from '../support/generated/model_config_pb.js';
import { expanded, readSequences } from './sequence-cases.js';

interface ConfigCase {
  readonly name: string;
  readonly config: {
    readonly max_batch_size: number;
    readonly sequence_batching?: Readonly<Record<string, unknown>>;
    readonly response_cache?: { readonly enable: boolean };
    readonly model_transaction_policy?: { readonly decoupled: boolean };
    readonly pbtxt?: string;
  };
  readonly load: string;
  readonly text?: string;
  readonly server_log?: readonly string[];
  readonly served?: Readonly<Record<string, unknown>>;
  readonly served_grpc?: Readonly<Record<string, unknown>>;
}

/** Load in Triton, and have no sound meaning: what they are refused with. */
const REFUSED: Readonly<Record<string, string>> = {
  'oldest-candidates-negative': 'maxCandidateSequences',
  'control-no-kinds': "control tensor 'START' has no control",
  'control-two-kinds-on-one': "control tensor 'A' is specified for multiple control kinds",
  'control-named-like-an-input': 'is also an input',
  'state-no-input-name': 'must have an input and an output name',
  'state-no-output-name': 'must have an input and an output name',
  'state-same-input-twice': "State input name 'st_in' specified more than once.",
  'state-same-output-twice': "output 'st_out' of model 'm' gives more than one state",
  'state-named-like-an-input': "state 'x' of model 'm' is named like an input",
  'state-growable': 'can only work with KIND_GPU model instances',
  'state-growable-same-buffer': 'can only work with KIND_GPU model instances',
};
/** Of files, which the repository's tests have, and of more digits than a number has here. */
const ELSEWHERE = /^(state-file|idle-largest|with-warmup)/;

function configOf({ config }: ConfigCase) {
  const {
    max_batch_size: rows,
    sequence_batching: batching,
    response_cache: cache,
    model_transaction_policy: policy,
  } = config;
  const json = canonical({
    sequence_batching: expanded({ max_batch_size: rows, sequence_batching: batching! }),
  }) as unknown as ConfigJson;
  const given = sequenceBatchingOf(json.sequence_batching!, "model 'm'", ({ data_type: type }) =>
    type === 'TYPE_STRING' ? '' : 0,
  );
  const complete = completeModelConfig(
    {
      modelName: 'm',
      inputs: { x: { dtype: 'int32', shape: [1] }, note: { dtype: 'string', shape: [1] } },
      outputs: { y: { dtype: 'int32', shape: [1] } },
      config: {
        ...(rows === 0 ? { batching: false } : { maxBatchSize: rows }),
        decoupled: policy?.decoupled ?? false,
        responseCache: cache?.enable ?? false,
        sequenceBatching: given,
      },
    },
    1,
  );
  const states = (json.sequence_batching!.state ?? []).map((state) => [state.input_name, shownState(state)] as const);
  const file = { platform: '', backend: '', shown: {}, shownTensors: Object.fromEntries(states) };
  return modelConfigJson({ ...complete, file });
}

/** The recorded reason, as ours names the model. */
function reasonOf({ text = '', server_log: log = [] }: ConfigCase): string {
  const line = text.startsWith('failed to load') ? log[0]! : text;
  return line
    .replace("Poll failed for model directory 'm': ", '')
    .replace(/^load failed .*?(Invalid argument|Internal): (.*);$/, '$2')
    .replace(/ for m\b/, " for model 'm'")
    .replace('model m ', "model 'm' ");
}

const CASES = readSequences<ConfigCase>('config').filter(
  ({ name, config }) => !ELSEWHERE.test(name) && config.pbtxt === undefined,
);

describe('recorded configurations of the sequence batcher', () => {
  it.each(CASES.filter(({ name, load }) => load === 'ok' && !(name in REFUSED)))(
    'are shown as recorded: $name',
    (testCase) => {
      const json = configOf(testCase);
      expect(json['sequence_batching']).toEqual(testCase.served);
      const message = fromBinary(
        ModelConfigSchema,
        writeMessage(ModelConfig, messageFromJson(ModelConfig, json as JsonValue)),
      );
      const { sequence_batching: shown } = toJson(ModelConfigSchema, message, { useProtoFieldName: true }) as object & {
        readonly sequence_batching?: unknown;
      };
      expect(shown).toEqual(testCase.served_grpc);
    },
  );

  it.each(CASES.filter(({ load }) => load !== 'ok'))('are refused with the recorded reason: $name', (testCase) => {
    expect(() => configOf(testCase)).toThrow(reasonOf(testCase));
  });

  it.each(Object.entries(REFUSED))('are refused where they have no sound meaning: %s', (name, text) => {
    expect(() => configOf(CASES.find((testCase) => testCase.name === name)!)).toThrow(text);
    expect(() => configOf(CASES.find((testCase) => testCase.name === name)!)).toThrow(TritonError);
  });

  // Asked of a running Triton 2.51, beside what was recorded.
  it.each<[string, { readonly dims: readonly number[]; readonly initial: object }, string]>([
    [
      'dims: [-1, 3]',
      { dims: [-1, 3], initial: { dims: [-1, 3], zero_data: true } },
      "'initial_state' field for state input name 's_in' contains variable dimensions.",
    ],
    [
      'no data',
      { dims: [2, 3], initial: { dims: [2, 3] } },
      "initial_state setting expects state's_in' to have state_data set",
    ],
  ])('are refused as by Triton for an initial state with %s', (_, { dims, initial }, text) => {
    const state = { input_name: 's_in', output_name: 's_out', data_type: 'TYPE_FP32', dims };
    const initial_state = [{ name: 'i', data_type: 'TYPE_FP32', ...initial }];
    const batching = { state: [{ ...state, initial_state }] };
    const testCase = { name: 'm', load: '', config: { max_batch_size: 4, sequence_batching: batching } };
    expect(() => configOf(testCase)).toThrow(text);
  });

  it('show numbers of 32 bits as short as Triton does', () => {
    const control = { kind: 'CONTROL_SEQUENCE_READY', fp32_false_true: [0.1, -3.4e38] };
    const batching = {
      direct: { minimum_slot_utilization: 0.33333 },
      control_input: [{ name: 'READY', control: [control] }],
    };
    const json = configOf({ name: 'm', load: 'ok', config: { max_batch_size: 4, sequence_batching: batching } });
    expect(json['sequence_batching']).toMatchObject(batching);
  });
});
