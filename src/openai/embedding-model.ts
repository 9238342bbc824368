// `embeddingModel` makes a model from a function of texts. The OpenAI API serves it at /v1/embeddings.

import { batch } from '../callables/batch.js';
import { describeValue } from '../checks/check.js';
import { invalidArg, TritonError } from '../errors.js';
import { type Awaitable, disownPromises } from '../model/awaitable.js';
import type { InferenceContext, InferFunc, ModelSpec } from '../model/callable.js';
import type { ModelConfig } from '../model/model-config.js';
import { EMBEDDING_INPUTS, EMBEDDING_OUTPUTS } from '../model/openai.js';
import { Tensor } from '../tensor/tensor.js';
import { boundOptions, type OpenAiModelOptions } from './generation-model.js';

type EmbeddingInputs = typeof EMBEDDING_INPUTS;
type EmbeddingOutputs = typeof EMBEDDING_OUTPUTS;

/** The embedding of one text. An error in its place fails the request of that text alone. */
export type Embedding = Float32Array | readonly number[] | Error;

/**
 * Embeds texts, of one request or of several in one batch: a list with an embedding for each, in the same order. All have the
 * same length.
 */
export type EmbedFunc = (
  texts: readonly string[],
  context: InferenceContext<EmbeddingInputs>,
) => Awaitable<readonly Embedding[]>;

export interface EmbeddingModelOptions extends OpenAiModelOptions<
  Omit<ModelConfig<false>, 'batching' | 'decoupled' | 'sequenceBatching'>
> {
  readonly embed: EmbedFunc;
  /** Counts the tokens of a text, for `usage` in answers. Default: 0 for every text. */
  readonly countTokens?: (text: string) => number;
}

/** What `bind` takes. */
export interface EmbeddingModel
  extends ModelSpec<EmbeddingInputs, EmbeddingOutputs, false>, Pick<EmbeddingModelOptions, 'setup' | 'teardown'> {
  readonly inferFunc: InferFunc<EmbeddingInputs, EmbeddingOutputs>;
}

/** More texts in a batch than the default of other models: an embedding is small work. */
const MAX_BATCH_SIZE = 64;
/** What the tensor of their numbers holds. */
const MAX_INT32 = 2 ** 31 - 1;

/**
 * Makes a model from a function that embeds texts. The server serves it at `/v1/embeddings`, and over Triton's protocols with the
 * tensors `text` and `embedding`. The dynamic batcher joins the texts of many requests; `config.maxBatchSize` is 64 by default.
 * Throws INVALID_ARG for wrong options.
 *
 * @example
 * triton.bind(embeddingModel({ modelName: 'Embed', embed: (texts) => texts.map((text) => embedding(text)) }));
 */
export function embeddingModel(options: EmbeddingModelOptions): EmbeddingModel {
  const bound = boundOptions(options, { helper: 'embeddingModel', own: ['embed', 'countTokens'] });
  const { countTokens } = options;
  if (countTokens !== undefined && typeof countTokens !== 'function') {
    throw invalidArg(`countTokens of embeddingModel must be a function, got ${typeof countTokens}`);
  }
  const what = `embed of model '${options.modelName}'`;
  return {
    ...bound,
    openai: 'embeddings',
    inputs: EMBEDDING_INPUTS,
    outputs: EMBEDDING_OUTPUTS,
    config: { maxBatchSize: MAX_BATCH_SIZE, ...options.config },
    inferFunc: batch<EmbeddingInputs, EmbeddingOutputs, false>(async ({ text }, context) => {
      const texts = text.strings();
      const embeddings = await options.embed(texts, context);
      const { failRow } = context;
      const embedding = joined(embeddings, { count: texts.length, what, failRow });
      const tokens = Int32Array.from(texts, (each, row) => {
        try {
          return tokensOf(options, each);
        } catch (error) {
          failRow(row, TritonError.from(error));
          return 0;
        }
      });
      return { embedding, tokens: new Tensor('int32', tokens, [texts.length, 1]) };
    }),
  };
}

/** Throws INTERNAL for anything but a whole number. */
function tokensOf({ countTokens, modelName }: EmbeddingModelOptions, text: string): number {
  const count: unknown = countTokens?.(text) ?? 0;
  if (typeof count === 'number' && Number.isInteger(count) && count >= 0 && count <= MAX_INT32) return count;
  disownPromises(count);
  const got = typeof count === 'number' ? count : describeValue(count);
  throw new TritonError('INTERNAL', `countTokens of model '${modelName}' returned ${got}, expected a whole number`);
}

interface Joining {
  readonly count: number;
  readonly what: string;
  readonly failRow: (row: number, error: Error) => void;
}

/** The embeddings as the rows of one tensor. Throws INTERNAL for another number of them, and for different lengths. */
function joined(embeddings: readonly Embedding[], { count, what, failRow }: Joining): Tensor<'float32'> {
  if (!Array.isArray(embeddings) || embeddings.length !== count) {
    const got = Array.isArray(embeddings) ? `${embeddings.length} embeddings` : describeValue(embeddings);
    throw new TritonError('INTERNAL', `${what} returned ${got} for ${count} texts, expected a list of one for each`);
  }
  const first = embeddings.find((embedding) => !(embedding instanceof Error)) as ArrayLike<number> | undefined;
  const length = first?.length ?? 0;
  const rows = new Float32Array(count * length);
  (embeddings as readonly Embedding[]).forEach((embedding, row) => {
    if (embedding instanceof Error) {
      failRow(row, embedding);
      return;
    }
    const [got, expected] = faultOf(embedding, length) ?? [];
    if (got !== undefined) {
      disownPromises(embeddings, 2);
      throw new TritonError('INTERNAL', `${what} returned ${got} for text ${row}, expected ${expected}`);
    }
    rows.set(embedding, row * length);
  });
  return new Tensor('float32', rows, [count, length]);
}

/** What was given in the place of an embedding, and what was expected; undefined for an embedding of that length. */
function faultOf(given: unknown, length: number): readonly [got: string, expected: string] | undefined {
  const isList = Array.isArray(given);
  if (!isList && !(given instanceof Float32Array)) return [describeValue(given), 'a Float32Array or a list of numbers'];
  // A text would become NaN.
  const odd = isList ? given.findIndex((value) => typeof value !== 'number') : -1;
  if (odd >= 0) return [`a list with ${describeValue(given[odd])} at index ${odd}`, 'numbers'];
  return given.length === length ? undefined : [`${given.length} numbers`, `${length} numbers`];
}
