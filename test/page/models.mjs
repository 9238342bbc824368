// The models that the page is tried with: one for each way to ask and to answer.
import { batch, chatModel, messageText, sample, stream } from 'tstriton';

/** A red square of two pixels by two. */
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAFElEQVR4nGP4z8DAAMIM/4EAAAAf7gX7jL2AoQAAAABJRU5ErkJggg==',
  'base64',
);
const DIGITS = Array.from({ length: 10 }, (_, digit) => `digit ${digit}`);

/** @param {import('tstriton').Triton} triton */
export function bindModels(triton) {
  triton.bind({
    modelName: 'AddSub',
    description: 'Adds two vectors, and subtracts the second from the first',
    inputs: { a: { dtype: 'float32', shape: [-1] }, b: { dtype: 'float32', shape: [-1], description: 'as long as a' } },
    outputs: { sum: { dtype: 'float32', shape: [-1] }, difference: { dtype: 'float32', shape: [-1] } },
    config: { maxBatchSize: 16 },
    inferFunc: batch(({ a, b }) => ({
      sum: a.map((value, i) => value + Number(b.data[i])),
      difference: a.map((value, i) => value - Number(b.data[i])),
    })),
  });
  triton.bind({
    modelName: 'Digits',
    description: 'Scores an image by its mean grey',
    route: 'POST /digits',
    inputs: { image: { dtype: 'float32', shape: [3, 32, 32] } },
    outputs: { scores: { dtype: 'float32', shape: [10], labels: DIGITS } },
    config: { batching: false },
    inferFunc: sample(({ image }) => {
      const mean = image.data.reduce((sum, value) => sum + value, 0) / image.data.length;
      return { scores: DIGITS.map((_, digit) => Math.exp(-Math.abs(digit - 10 * mean))) };
    }),
  });
  triton.bind({
    modelName: 'Echo',
    inputs: {
      text: { dtype: 'string', shape: [1] },
      wide: { dtype: 'int64', shape: [2] },
      flag: { dtype: 'bool', shape: [1] },
      half: { dtype: 'float16', shape: [-1] },
      more: { dtype: 'int32', shape: [2, 2], optional: true },
    },
    outputs: {
      text: { dtype: 'string', shape: [1] },
      wide: { dtype: 'int64', shape: [2] },
      flag: { dtype: 'bool', shape: [1] },
      half: { dtype: 'float16', shape: [-1] },
      more: { dtype: 'int32', shape: [2, 2] },
      parameters: { dtype: 'string', shape: [1] },
    },
    config: { batching: false },
    inferFunc: (requests) =>
      requests.map(({ inputs, parameters }) => ({
        ...inputs,
        more: inputs.more,
        parameters: [JSON.stringify(parameters)],
      })),
  });
  triton.bind({
    modelName: 'Thumbnail',
    inputs: { image: { dtype: 'bytes', shape: [1], contentEncoding: 'base64' } },
    outputs: { size: { dtype: 'int32', shape: [1] }, thumbnail: { dtype: 'bytes', shape: [1] } },
    config: { batching: false },
    inferFunc: sample(({ image }) => ({ size: [Number(image.data[0]?.length)], thumbnail: [PNG] })),
  });
  triton.bind({
    modelName: 'Detector',
    description: 'Finds a circle, a square and less',
    inputs: { picture: { dtype: 'bytes', shape: [1], description: 'an image file' } },
    outputs: {
      found: { dtype: 'float32', shape: [-1, 6], boxes: 'cxcywh', labels: ['circle', 'square'] },
    },
    config: { batching: false },
    inferFunc: sample(() => ({
      found: [
        [10, 10, 10, 20, 0.5, 1],
        [30, 20, 4, 4, 0.75, 0],
        [1, 1, 1, 1, 0.125, 0],
      ],
    })),
  });
  triton.bind({
    modelName: 'Grey',
    inputs: { picture: { dtype: 'uint8', shape: [8, 16] } },
    outputs: { sum: { dtype: 'int32', shape: [1] } },
    config: { batching: false },
    inferFunc: sample(({ picture }) => ({ sum: [picture.data.reduce((sum, value) => sum + value, 0)] })),
  });
  triton.bind({
    modelName: 'Loud',
    inputs: { sound: { dtype: 'float32', shape: [-1] } },
    outputs: { samples: { dtype: 'int32', shape: [1] } },
    config: { batching: false },
    inferFunc: sample(({ sound }) => ({ samples: [sound.data.length] })),
  });
  triton.bind({
    modelName: 'Words',
    inputs: { text: { dtype: 'string', shape: [1] } },
    outputs: { word: { dtype: 'string', shape: [1] } },
    config: { decoupled: true },
    inferFunc: stream(async function* ({ text }) {
      for (const word of String(text.data[0]).split(' ')) yield { word: [[`${word} `]] };
    }),
  });
  /** How often the stream without end was left. */
  let left = 0;
  triton.bind({
    modelName: 'Endless',
    inputs: { from: { dtype: 'int32', shape: [1] } },
    outputs: { i: { dtype: 'int32', shape: [1] } },
    config: { decoupled: true, batching: false },
    inferFunc: stream(async function* ({ from }, { signal }) {
      try {
        for (let i = Number(from.data[0]); !signal.aborted; i++) {
          yield { i: [i] };
          await new Promise((resolve) => setTimeout(resolve, 5));
        }
      } finally {
        left++;
      }
    }),
  });
  triton.bind({
    modelName: 'Left',
    inputs: {},
    outputs: { count: { dtype: 'int32', shape: [1] } },
    config: { batching: false },
    inferFunc: sample(() => ({ count: [left] })),
  });
  triton.bind({
    modelName: 'Markup',
    inputs: { text: { dtype: 'string', shape: [1] } },
    outputs: { text: { dtype: 'string', shape: [1] } },
    config: { batching: false },
    inferFunc: (requests, { logger }) => {
      for (const { inputs } of requests) logger.warn(`<b>${inputs.text.data[0]}</b>`);
      return requests.map(({ inputs }) => ({ text: inputs.text }));
    },
  });
  triton.bind({
    modelName: 'Total',
    inputs: { x: { dtype: 'int32', shape: [1] } },
    outputs: { total: { dtype: 'int32', shape: [1] } },
    config: { batching: false, sequenceBatching: { strategy: 'oldest' } },
    inferFunc: totals(),
  });
  triton.bind(
    chatModel({
      modelName: 'Writer',
      description: 'Says what it was told',
      async *chat({ messages }) {
        for (const word of messageText(messages[0] ?? { role: 'user' }).split(/(?<= )/)) yield word;
      },
    }),
  );
}

/** Sums by sequence. */
function totals() {
  /** @type {Map<unknown, number>} */
  const sums = new Map();
  return (/** @type {readonly any[]} */ requests) =>
    requests.map(({ inputs, sequence }) => {
      const sum = (sequence.start ? 0 : (sums.get(sequence.id) ?? 0)) + inputs.x.data[0];
      sums.set(sequence.id, sum);
      return { total: [sum] };
    });
}
