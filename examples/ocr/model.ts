// The declaration of the pipeline, which the server binds and the client's types follow from.
import { defineModel } from 'tstriton';

/** Pages that are decoded and cut at the same time. */
const PAGES_AT_ONCE = 8;

export const ocr = defineModel({
  modelName: 'Ocr',
  inputs: { image: { dtype: 'bytes', shape: [1] } },
  outputs: {
    text: { dtype: 'string', shape: [-1] },
    confidence: { dtype: 'float32', shape: [-1] },
    boxes: { dtype: 'float32', shape: [-1, 4, 2] },
  },
  strict: true,
  config: { batching: false, concurrency: PAGES_AT_ONCE },
});
