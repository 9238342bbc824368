// What `tstriton infer` does.

import type { InferOptions } from '../../client/infer-options.js';
import { invalidArg } from '../../errors.js';
import type { Parameters } from '../../model/parameters.js';
import type { Tensor } from '../../tensor/tensor.js';
import { recordOf } from '../arguments.js';
import type { CliIo } from '../cli-io.js';
import { untilInterrupted } from '../interrupted.js';
import { errorInOwnWords } from '../own-words.js';
import { styleFor } from '../style.js';
import { askedModel, type AskedModel } from './asked-model.js';
import { readJson } from './exact-json.js';
import { inputsFromArguments, inputsFromJson, readBytes, unknownTensor, type GivenInputs } from './given-inputs.js';
import { showOutputs, type Format } from './show-outputs.js';
import type { AccessFlags } from '../server-access.js';

/** The flags of `tstriton infer`. */
export interface InferFlags extends AccessFlags {
  readonly data?: string;
  readonly input?: readonly string[];
  readonly batch?: boolean;
  readonly outputs?: readonly string[];
  readonly parameter?: readonly string[];
  readonly modelVersion?: number;
  readonly requestId?: string;
  readonly format?: Format;
  readonly binary: boolean;
}

export async function infer(url: string, name: string, flags: InferFlags, io: CliIo): Promise<void> {
  const given = await readData(flags, io);
  const format = flags.format ?? (io.terminal.out ? 'pretty' : 'json');
  const style = styleFor(io.terminal.out, io.env);
  await untilInterrupted(io, async (signal) => {
    const asked = await askedModel(url, name, flags, { io, signal });
    try {
      await ask(asked, given, flags, (outputs) => io.out(showOutputs(outputs, format, style)));
    } catch (error) {
      throw errorInOwnWords(error, OWN_WORDS);
    } finally {
      await asked[Symbol.asyncDispose]();
    }
  });
}

async function ask(
  { model, client }: AskedModel,
  given: GivenInputs,
  flags: InferFlags,
  show: (outputs: Readonly<Record<string, Tensor>>) => void,
): Promise<void> {
  const { requestId = given.options.requestId, outputs = given.options.outputs } = flags;
  const strange = outputs?.find((name) => !model.outputs.some((output) => output.name === name));
  if (strange !== undefined) throw unknownTensor('output', strange, model.outputs);
  const inputs = { ...given.inputs, ...inputsFromArguments(flags.input ?? [], model.inputs) };
  const isBatch = model.maxBatchSize > 0 && (flags.batch === true || given.hasBatchAxis);
  const options: InferOptions = {
    parameters: { ...given.parameters, ...parametersOf(flags.parameter ?? []) } as Parameters,
    ...(requestId !== undefined && { requestId }),
    ...(outputs !== undefined && { outputs }),
  };
  if (!model.decoupled) {
    show(await (isBatch ? client.inferBatch(inputs, options) : client.inferSample(inputs, options)));
    return;
  }
  for await (const outputs of isBatch ? client.streamBatch(inputs, options) : client.streamSample(inputs, options)) {
    show(outputs);
  }
}

const OWN_WORDS = [
  [/ \w+Sample takes tensors without the batch axis\.$/, ' With --batch, values have the batch axis in front.'],
  [/ \w+Batch takes tensors with the batch axis first\.$/, ' Without --batch, values are one sample.'],
] as const;

const NOTHING: GivenInputs = { inputs: {}, hasBatchAxis: false, parameters: {}, options: {} };

async function readData({ data, input }: InferFlags, io: CliIo): Promise<GivenInputs> {
  if (data === undefined && input !== undefined) return NOTHING;
  if (data === undefined || data === '-') {
    const given = data === undefined && io.terminal.in ? undefined : await io.readInput();
    if (given !== undefined && given.length > 0) return inputsFromJson(given, 'standard input');
    throw invalidArg('expected the inputs by --input or --data, or on standard input; see tstriton infer --help');
  }
  if (!data.startsWith('@')) return inputsFromJson(Buffer.from(data), '--data');
  const path = data.slice(1);
  return inputsFromJson(readBytes(path, '--data'), path);
}

/** A value is JSON where it is, and else a text. Throws INVALID_ARG. */
function parametersOf(given: readonly string[]): Readonly<Record<string, unknown>> {
  return recordOf(
    given.map((argument) => {
      const at = argument.indexOf('=');
      if (at <= 0) throw invalidArg(`--parameter ${argument} must be name=value`);
      const text = argument.slice(at + 1);
      const isJson = /^(true|false|-?\d+(\.\d+)?([eE][-+]?\d+)?|".*")$/.test(text);
      return [argument.slice(0, at), isJson ? readJson(Buffer.from(text), `--parameter ${argument}`) : text] as const;
    }),
    'parameter',
  );
}
