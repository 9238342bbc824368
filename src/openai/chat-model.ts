// `chatModel` makes a model from a function of messages. The OpenAI API serves it at /v1/chat/completions.

import { stream } from '../callables/stream.js';
import { textOf } from '../checks/check.js';
import { invalidArg } from '../errors.js';
import type { InferenceContext, InferFunc, ModelSpec } from '../model/callable.js';
import { CHAT_INPUTS, CHAT_OUTPUTS } from '../model/openai.js';
import type { ChatMessage, ChatTool } from './chat-messages.js';
import { type ChatPart, generate, type Generated } from './generation.js';
import { boundOptions, type GenerationConfig, type OpenAiModelOptions } from './generation-model.js';
import {
  type GenerationOptions,
  generationOptions,
  isFields,
  type JsonFields,
  objects,
  parseTensorJson,
} from './generation-request.js';

type ChatInputs = typeof CHAT_INPUTS;
type ChatOutputs = typeof CHAT_OUTPUTS;

/** A request to a chat model. */
export interface ChatRequest extends GenerationOptions {
  /** At least one, in the order of the chat. */
  readonly messages: readonly ChatMessage[];
  /** The tools that the model may ask for. */
  readonly tools: readonly ChatTool[];
  /** `auto`, `none`, `required`, or an object that names a tool. */
  readonly toolChoice: unknown;
  /** The form that the answer should have, such as `{ type: 'json_object' }`. */
  readonly responseFormat: unknown;
}

/** Answers a chat: a generator of tokens, or a function of the whole answer. */
export type ChatFunc = (request: ChatRequest, context: InferenceContext<ChatInputs>) => Generated<ChatPart>;

export interface ChatModelOptions extends OpenAiModelOptions<GenerationConfig> {
  readonly chat: ChatFunc;
}

/** What `bind` takes. */
export interface ChatModel
  extends ModelSpec<ChatInputs, ChatOutputs, true>, Pick<ChatModelOptions, 'setup' | 'teardown'> {
  readonly inferFunc: InferFunc<ChatInputs, ChatOutputs, true>;
}

/**
 * Makes a model from a function that answers chats. The server serves it at `/v1/chat/completions`, as one answer or as a
 * stream, and over Triton's protocols with the tensors `messages` and `options`. The answer ends after `maxTokens` texts, and
 * before a text of `stop`, whether or not the function looks at them. Throws INVALID_ARG for wrong options.
 *
 * @example
 * triton.bind(
 *   chatModel({
 *     modelName: 'Writer',
 *     async *chat({ messages, signal }) {
 *       for await (const token of write(messageText(messages.at(-1)!), signal)) yield token;
 *     },
 *   }),
 * );
 */
export function chatModel(options: ChatModelOptions): ChatModel {
  const bound = boundOptions(options, { helper: 'chatModel', own: ['chat'] });
  const giver = { what: `chat of model '${options.modelName}'`, usesTools: true };
  return {
    ...bound,
    openai: 'chat',
    inputs: CHAT_INPUTS,
    outputs: CHAT_OUTPUTS,
    config: { ...options.config, decoupled: true, maxBatchSize: 1 },
    inferFunc: stream<ChatInputs, ChatOutputs>((inputs, context) => {
      const request = chatRequest(inputs.messages.strings()[0]!, inputs.options?.strings()[0], context.signal);
      // Which outputs a step has is known when it comes.
      return generate(options.chat(request, context), request, giver) as never;
    }),
  };
}

function chatRequest(messages: string, json: string | undefined, signal: AbortSignal): ChatRequest {
  const request = generationOptions(json, signal);
  const { options } = request;
  return {
    ...request,
    messages: chatMessages(parseTensorJson('messages', messages)),
    tools: chatTools(options),
    toolChoice: options['tool_choice'] ?? undefined,
    responseFormat: options['response_format'] ?? undefined,
  };
}

function chatTools(options: JsonFields): readonly ChatTool[] {
  const list = objects(options, 'tools') ?? [];
  list.forEach(({ type, function: tool }, index) => {
    const where = `'tools[${index}]`;
    // A model asks for functions alone.
    if (type !== 'function') throw invalidArg(`${where}.type' must be "function", got ${textOf(type)}`);
    if (!hasTexts(tool, ['name'])) throw invalidArg(`${where}.function' must be an object with a name`);
  });
  return list as unknown as readonly ChatTool[];
}

function chatMessages(given: unknown): readonly ChatMessage[] {
  const list = objects({ messages: given }, 'messages') ?? [];
  if (list.length === 0) throw invalidArg("'messages' must have at least one message, got none");
  list.forEach(({ role, content, tool_calls: calls }, index) => {
    const where = `'messages[${index}]`;
    if (typeof role !== 'string') throw invalidArg(`${where}.role' must be a string, got ${typeof role}`);
    if (typeof content !== 'string' && !isListOf(content, isPart))
      throw invalidArg(`${where}.content' must be a string or a list of parts, each with a type and what that has`);
    if (!isListOf(calls, isToolCall))
      throw invalidArg(`${where}.tool_calls' must be a list of calls, each with an id, and a function of texts`);
  });
  return list as unknown as readonly ChatMessage[];
}

/** Whether the field is a list of such, or left out. */
function isListOf(value: unknown, isOne: (element: unknown) => boolean): boolean {
  return (value ?? undefined) === undefined || (Array.isArray(value) && value.every(isOne));
}

function isPart(part: unknown): boolean {
  if (!isFields(part)) return false;
  const { type } = part;
  if (type === 'text') return hasTexts(part, ['text']);
  if (type === 'image_url') return hasTexts(part['image_url'], ['url']);
  return typeof type === 'string';
}

function isToolCall(call: unknown): boolean {
  return hasTexts(call, ['id']) && hasTexts(call['function'], ['name', 'arguments']);
}

function hasTexts(value: unknown, names: readonly string[]): value is JsonFields {
  return isFields(value) && names.every((name) => typeof value[name] === 'string');
}
