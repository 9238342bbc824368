// The tensors of models that the OpenAI API serves. A declaration names the endpoint; its tensors have the names and
// types below, so that the models serve Triton's protocols too.

export const OPENAI_ENDPOINTS = ['chat', 'completions', 'embeddings', 'transcriptions'] as const;

/** An endpoint of the OpenAI API: `/v1/chat/completions`, `/v1/completions`, `/v1/embeddings` or `/v1/audio/transcriptions`. */
export type OpenAiEndpoint = (typeof OPENAI_ENDPOINTS)[number];

const TEXT = { dtype: 'string', shape: [1] } as const;
const OPTIONAL_TEXT = { ...TEXT, optional: true } as const;

/** `options`: a JSON object, the fields of the request that have no tensor of their own. */
export const CHAT_INPUTS = { messages: TEXT, options: OPTIONAL_TEXT } as const;
/** `tool_calls`: a JSON list in the form of a streamed answer. `usage`: a JSON object in the form of the API. */
export const CHAT_OUTPUTS = { text: TEXT, tool_calls: TEXT, finish_reason: TEXT, usage: TEXT } as const;
export const COMPLETION_INPUTS = { prompt: TEXT, options: OPTIONAL_TEXT } as const;
export const COMPLETION_OUTPUTS = { text: TEXT, finish_reason: TEXT, usage: TEXT } as const;
/** `audio`: a file. `options`: as of a chat. */
export const TRANSCRIPTION_INPUTS = { audio: { dtype: 'bytes', shape: [1] }, options: OPTIONAL_TEXT } as const;
/** `details`: a JSON object with the members that `verbose_json` adds to the text. */
export const TRANSCRIPTION_OUTPUTS = { text: TEXT, details: TEXT } as const;
export const EMBEDDING_INPUTS = { text: TEXT } as const;
/** `tokens`: how many tokens the text has. */
export const EMBEDDING_OUTPUTS = {
  embedding: { dtype: 'float32', shape: [-1] },
  tokens: { dtype: 'int32', shape: [1] },
} as const;
