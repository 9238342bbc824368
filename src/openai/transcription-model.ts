// `transcriptionModel` makes a model from a function of recordings. The OpenAI API serves it at /v1/audio/transcriptions.

import { sample } from '../callables/sample.js';
import { describeValue } from '../checks/check.js';
import { TritonError } from '../errors.js';
import { type Awaitable, disownPromises } from '../model/awaitable.js';
import type { InferenceContext, InferFunc, ModelSpec } from '../model/callable.js';
import type { ModelConfig } from '../model/model-config.js';
import { TRANSCRIPTION_INPUTS, TRANSCRIPTION_OUTPUTS } from '../model/openai.js';
import { boundOptions, type OpenAiModelOptions } from './generation-model.js';
import { type JsonFields, isFields, parseFields } from './generation-request.js';

type TranscriptionInputs = typeof TRANSCRIPTION_INPUTS;
type TranscriptionOutputs = typeof TRANSCRIPTION_OUTPUTS;

/** A recording to write down. */
export interface TranscriptionRequest {
  /** The file as the client sent it: WAV, MP3 or another form, whose name and type the client does not have to tell. */
  readonly audio: Uint8Array;
  /** The language that is spoken, as `en`; undefined where the client did not say. */
  readonly language: string | undefined;
  /** Text that came before, or words that will come. */
  readonly prompt: string | undefined;
  readonly temperature: number | undefined;
  /** All fields as the client sent them, under the names of the API, without `file`, `model` and `stream`. */
  readonly options: JsonFields;
  /** Aborts when the client is gone. */
  readonly signal: AbortSignal;
}

/** A text with what `verbose_json` tells of it. */
export interface Transcript {
  readonly text: string;
  readonly language?: string;
  /** Of the recording, in seconds. */
  readonly duration?: number;
  /** In the form of the API, such as `{ id: 0, start: 0, end: 1.5, text: 'Hello' }`. */
  readonly segments?: readonly object[];
  /** In the form of the API, such as `{ word: 'Hello', start: 0, end: 0.4 }`. */
  readonly words?: readonly object[];
}

/** Writes a recording down. */
export type TranscribeFunc = (
  request: TranscriptionRequest,
  context: InferenceContext<TranscriptionInputs>,
) => Awaitable<string | Transcript>;

export interface TranscriptionModelOptions extends OpenAiModelOptions<
  Omit<ModelConfig<false>, 'batching' | 'decoupled' | 'maxBatchSize'>
> {
  readonly transcribe: TranscribeFunc;
}

/** What `bind` takes. */
export interface TranscriptionModel
  extends
    ModelSpec<TranscriptionInputs, TranscriptionOutputs, false>,
    Pick<TranscriptionModelOptions, 'setup' | 'teardown'> {
  readonly inferFunc: InferFunc<TranscriptionInputs, TranscriptionOutputs>;
}

/**
 * Makes a model from a function that writes recordings down. The server serves it at `/v1/audio/transcriptions`, and over Triton's
 * protocols with the tensors `audio` and `text`. One recording runs at a time, unless `config.concurrency` says more. Throws
 * INVALID_ARG for wrong options.
 *
 * @example
 * triton.bind(transcriptionModel({ modelName: 'Ears', transcribe: ({ audio, language }) => whisper(audio, language) }));
 */
export function transcriptionModel(options: TranscriptionModelOptions): TranscriptionModel {
  const bound = boundOptions(options, { helper: 'transcriptionModel', own: ['transcribe'] });
  const what = `transcribe of model '${options.modelName}'`;
  return {
    ...bound,
    openai: 'transcriptions',
    inputs: TRANSCRIPTION_INPUTS,
    outputs: TRANSCRIPTION_OUTPUTS,
    config: { ...options.config, batching: false },
    inferFunc: sample<TranscriptionInputs, TranscriptionOutputs, false>(async ({ audio, options: json }, context) => {
      const request = transcriptionRequest(audio.data[0]!, json?.strings()[0], context.signal);
      const { text, ...details } = transcriptOf(await options.transcribe(request, context), what);
      return { text: [text], details: [JSON.stringify(details)] };
    }),
  };
}

function transcriptionRequest(audio: Uint8Array, json: string | undefined, signal: AbortSignal): TranscriptionRequest {
  const options = json === undefined ? {} : parseFields(json);
  const { language, prompt, temperature } = options;
  return {
    audio,
    language: typeof language === 'string' ? language : undefined,
    prompt: typeof prompt === 'string' ? prompt : undefined,
    temperature: typeof temperature === 'number' ? temperature : undefined,
    options,
    signal,
  };
}

function transcriptOf(given: unknown, what: string): Transcript {
  if (typeof given === 'string') return { text: given };
  if (isFields(given) && typeof given['text'] === 'string') return given as unknown as Transcript;
  disownPromises(given);
  const got = isFields(given) ? 'an object without a text' : describeValue(given);
  throw new TritonError('INTERNAL', `${what} returned ${got}, expected a text, or an object with one as 'text'`);
}
