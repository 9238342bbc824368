// Reads a request for text: POST /v1/chat/completions and /v1/completions.

import type { PacedWork } from '../../pacing/paced-work.js';
import { JsonArray, JsonObject } from '../../protocol/json/json-value.js';
import { FieldError } from './openai-errors.js';
import type { OpenAiInputs } from './openai-inference.js';
import { modelOf, readFields, type RequestFields, TOKENS_HINT } from './request-fields.js';

export interface GenerationRequest {
  readonly model: string;
  readonly isStream: boolean;
  /** Whether a stream ends with the numbers of its tokens. */
  readonly includesUsage: boolean;
  /** The inputs of each choice: `n` of the first prompt, then `n` of the next. */
  readonly choices: readonly Choice[];
  /** Choices of each prompt. */
  readonly perPrompt: number;
  /** Bytes of the inputs of all choices: each has a copy. */
  readonly inputBytes: number;
}

export interface Choice {
  readonly inputs: OpenAiInputs;
  /** The text that its answer begins with. */
  readonly echo: string;
}

export type GenerationEndpoint = 'chat' | 'completions';

const MOST_CHOICES = 128;
/** Of a prompt that is sent back. */
const MOST_ECHOED_BYTES = 1 << 20;
const SERVERS_OWN = new Set(['model', 'messages', 'prompt', 'stream', 'stream_options', 'n', 'echo']);

/** Throws INVALID_ARG, naming the field. */
export function* decodeGeneration(
  endpoint: GenerationEndpoint,
  body: Buffer,
  maxInputSize: number,
): PacedWork<GenerationRequest> {
  const fields = yield* readFields(body, maxInputSize);
  const model = modelOf(fields);
  refuseLogProbabilities(fields);
  if (endpoint === 'chat') refuseAudio(fields);
  const perPrompt = fields.integer('n', MOST_CHOICES) ?? 1;
  const bestOf = fields.integer('best_of', MOST_CHOICES) ?? perPrompt;
  if (bestOf !== perPrompt) throw new FieldError('best_of', `'best_of' must be equal to 'n', got ${bestOf}`);
  const prompts = endpoint === 'chat' ? [messagesOf(fields)] : yield* fields.texts('prompt', TOKENS_HINT);
  if (prompts.length * perPrompt > MOST_CHOICES) {
    throw new FieldError(
      'n',
      `the request asks for ${prompts.length * perPrompt} answers, at most ${MOST_CHOICES} are given`,
    );
  }
  const options = [fields.without(SERVERS_OWN)];
  const promptBytes = prompts.reduce((sum, { length }) => sum + length, 0);
  const inputBytes = perPrompt * (promptBytes + prompts.length * options[0]!.length);
  const echoes = endpoint === 'completions' && fields.boolean('echo');
  if (echoes && promptBytes > MOST_ECHOED_BYTES) {
    throw new FieldError('echo', `'echo' takes prompts of at most ${MOST_ECHOED_BYTES} bytes, got ${promptBytes}`);
  }
  const choices = prompts.flatMap((prompt): Choice[] => {
    const texts = endpoint === 'chat' ? { messages: [prompt], options } : { prompt: [prompt], options };
    const choice = { inputs: { model, endpoint, texts }, echo: echoes ? prompt.toString() : '' };
    return Array.from({ length: perPrompt }, () => choice);
  });
  const isStream = fields.boolean('stream');
  return { model, isStream, includesUsage: includesUsage(fields), choices, perPrompt, inputBytes };
}

function messagesOf(fields: RequestFields): Buffer {
  const messages = fields.get('messages');
  if (messages === undefined) throw new FieldError('messages', "you must provide 'messages'");
  if (!(messages instanceof JsonArray)) throw new FieldError('messages', "'messages' must be a list of objects");
  if (messages.length === 0) throw new FieldError('messages', "'messages' must have at least one message, got none");
  return fields.text('messages')!;
}

function includesUsage(fields: RequestFields): boolean {
  const options = fields.get('stream_options');
  if (options === undefined) return false;
  if (!(options instanceof JsonObject)) throw new FieldError('stream_options', "'stream_options' must be an object");
  const value = options.get('include_usage') ?? false;
  if (typeof value === 'boolean') return value;
  throw new FieldError('stream_options', "'stream_options.include_usage' must be true or false");
}

/** Models give texts without their probabilities. */
function refuseLogProbabilities(fields: RequestFields): void {
  for (const name of ['logprobs', 'top_logprobs']) {
    const value = fields.get(name);
    if (value !== undefined && value !== false && value !== 0) {
      throw new FieldError(name, `'${name}' is not supported`);
    }
  }
}

function refuseAudio(fields: RequestFields): void {
  const name = fields.text('modalities')?.includes('"audio"') === true ? 'modalities' : 'audio';
  if (name === 'modalities' || fields.get('audio') !== undefined)
    throw new FieldError(name, `'${name}' is not supported: answers have no audio`);
}
