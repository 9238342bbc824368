import { describe, expect, it } from 'vitest';

import type { ModelSpec } from './callable.js';
import { completeModelConfig } from './complete-model.js';
import {
  CHAT_INPUTS,
  CHAT_OUTPUTS,
  EMBEDDING_INPUTS,
  EMBEDDING_OUTPUTS,
  TRANSCRIPTION_INPUTS,
  TRANSCRIPTION_OUTPUTS,
} from './openai.js';

const text = { dtype: 'string', shape: [1] } as const;

function refusal(spec: Omit<ModelSpec, 'modelName'>): string {
  try {
    completeModelConfig({ modelName: 'M', ...spec }, 1);
    return 'accepted';
  } catch (error) {
    return (error as Error).message;
  }
}

describe('a declaration for the OpenAI API', () => {
  it.each([
    { openai: 'chat', inputs: CHAT_INPUTS, outputs: CHAT_OUTPUTS },
    { openai: 'chat', inputs: { messages: text }, outputs: { text } },
    { openai: 'completions', inputs: { prompt: { ...text, shape: [-1] } }, outputs: { text, more: text } },
    { openai: 'completions', inputs: { prompt: text, other: { ...text, optional: true } }, outputs: { text } },
    { openai: 'embeddings', inputs: EMBEDDING_INPUTS, outputs: EMBEDDING_OUTPUTS },
    { openai: 'transcriptions', inputs: TRANSCRIPTION_INPUTS, outputs: TRANSCRIPTION_OUTPUTS },
    {
      openai: 'chat',
      inputs: { messages: text },
      outputs: { text },
      config: { sequenceBatching: { iterative: true } },
    },
    { openai: 'transcriptions', inputs: { audio: text }, outputs: { text } },
    { openai: 'embeddings', inputs: { text }, outputs: { embedding: { dtype: 'float32', shape: [384] } } },
  ] as const)('is accepted: %o', (spec) => {
    expect(refusal(spec)).toBe('accepted');
  });

  it.each([
    [{ openai: 'chats', inputs: { messages: text }, outputs: { text } }, "openai of model 'M' must be one of chat, completions, embeddings, transcriptions, got \"chats\"; did you mean 'chat'?"],
    [{ openai: true, inputs: { messages: text }, outputs: { text } }, "openai of model 'M' must be one of chat, completions, embeddings, transcriptions, got true"],
    [{ openai: 'chat', inputs: { prompt: text }, outputs: { text } }, "openai: 'chat' of model 'M' needs an input 'messages' of string and the shape [1]"],
    [{ openai: 'chat', inputs: { messages: { dtype: 'int32', shape: [1] } }, outputs: { text } }, "openai: 'chat' of model 'M' needs an input 'messages' of string and the shape [1], got INT32 and [1]"],
    [{ openai: 'chat', inputs: { messages: text, image: text }, outputs: { text } }, "openai: 'chat' of model 'M' sends messages and options only: the input 'image' must be optional"],
    [{ openai: 'completions', inputs: { prompt: text }, outputs: { text: { ...text, shape: [2] } } }, "openai: 'completions' of model 'M' needs an output 'text' of string and the shape [1], got BYTES and [2]"],
    [{ openai: 'embeddings', inputs: { text }, outputs: { embedding: { dtype: 'float64', shape: [-1] } } }, "openai: 'embeddings' of model 'M' needs an output 'embedding' of float32 and the shape [-1], got FP64 and [-1]"],
    [{ openai: 'embeddings', inputs: { text }, outputs: EMBEDDING_OUTPUTS, config: { decoupled: true } }, "openai: 'embeddings' of model 'M' needs one response per request, got a decoupled model"],
    [{ openai: 'chat', inputs: CHAT_INPUTS, outputs: CHAT_OUTPUTS, config: { sequenceBatching: {} } }, "openai: 'chat' of model 'M' excludes a config.sequenceBatching that is not iterative: requests of the OpenAI API belong to no sequence"],
    [{ openai: 'embeddings', inputs: { text }, outputs: EMBEDDING_OUTPUTS, config: { sequenceBatching: { iterative: true } } }, "openai: 'embeddings' of model 'M' excludes config.sequenceBatching: a request may have several texts, and one of a sequence has one row"],
    [{ openai: 'transcriptions', inputs: { audio: { dtype: 'uint8', shape: [-1] } }, outputs: { text } }, "openai: 'transcriptions' of model 'M' needs an input 'audio' of string and the shape [1], got UINT8 and [-1]"],
    [{ openai: 'transcriptions', inputs: { audio: text }, outputs: { text }, config: { decoupled: true } }, "openai: 'transcriptions' of model 'M' needs one response per request, got a decoupled model"],
  ] as const)('is refused: %o', (spec, message) => {
    expect(refusal(spec as unknown as ModelSpec)).toBe(message);
  }); // prettier-ignore
});
