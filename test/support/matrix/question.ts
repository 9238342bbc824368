// The requests of the matrix. Each follows from a seed and its number, and no two are alike: size, id, parameters, header and
// contents differ. Its answer follows from all of it.
import { answersOf, bytesOf, rowOf } from '../../fixtures/matrix-instance.js';
import { Random } from '../random-life/random.js';

export type ModelName = 'Whole' | 'Delayed' | 'Threads' | 'Rows' | 'Echo' | 'Cached' | 'Stream' | 'Calls';

export interface QuestionTensor {
  readonly name: string;
  readonly dtype: 'uint8' | 'int32' | 'string';
  readonly shape: readonly number[];
  readonly data: Uint8Array | Int32Array | readonly string[];
}

export interface Question {
  readonly number: number;
  readonly model: ModelName;
  readonly id: string;
  readonly parameters: Readonly<Record<string, string | number | boolean>>;
  /** The value of the header that the server forwards. */
  readonly header: string;
  readonly tensors: readonly QuestionTensor[];
  /** Of the request's tensors or the answer's, whichever are more. */
  readonly bytes: number;
  /** How its client behaves: drawn beside the question, so that the seed says that too. */
  readonly manners: Manners;
}

export interface Manners {
  /** Gives up after so many milliseconds; 0 in the same turn, undefined never. */
  readonly givesUpAfter: number | undefined;
  /** Reads its answer in small pieces, with pauses. */
  readonly isSlow: boolean;
  /** Chooses among what a way offers. */
  readonly draw: number;
}

/** What a client has to get: tensors of each answer. */
export interface ExpectedAnswer {
  readonly y: Uint8Array;
  readonly said: readonly string[];
}

/** The values of a tensor in JSON. */
export function valuesOf({ data }: QuestionTensor): (string | number)[] {
  return Array.from<string | number>(data);
}

export const HEADER = 'x-matrix';
export const LARGE_BYTES = 500_000;
const BATCHING: Readonly<Record<ModelName, boolean>> = {
  Whole: false,
  Delayed: true,
  Threads: true,
  Rows: true,
  Echo: true,
  Cached: true,
  Stream: false,
  Calls: false,
};
const KI = 1024;
const THRESHOLDS = { kib4: 4 * KI, kib16: 16 * KI, kib64: 64 * KI, mib1: KI * KI } as const;
/** How often a size is about a threshold; about none it is that of most requests in the world. */
const SIZES = { small: 680, kib4: 90, kib16: 150, kib64: 70, mib1: 8 } as const;
/** Those of 16 MB and more are few, and come in any run of some thousand questions. */
const HUGE_EVERY = 250;
const LARGEST = 20_000_000;
/** Different questions of which some are asked again, with another id, while the first are answered. */
const KEPT_QUESTIONS = 60;
const WIDTHS = [1, 3, 4, 250, 1024, 4096, 4097] as const;

export interface Limits {
  readonly models: Readonly<Partial<Record<ModelName, number>>>;
  readonly mostBytes: number;
  /** Of a stream, where its requests and answers are JSON. Default: the same. */
  readonly mostStreamed?: number;
}

/** The question with this number. */
export function questionOf(seed: number, number: number, limits: Limits): Question {
  const random = new Random(Math.imul(seed, 0x9e3779b1) ^ Math.imul(number, 0x85ebca6b));
  const model = random.weighted(limits.models as Record<ModelName, number>);
  const mostBytes = (model === 'Stream' ? limits.mostStreamed : undefined) ?? limits.mostBytes;
  const manners = mannersOf(random);
  const id = `${number}-${'i'.repeat(lengthOf(random, 40))}`;
  if (model === 'Rows') return rowsQuestion(random, number, { id, manners });
  const content = model === 'Cached' ? new Random(seed + random.integer(1, KEPT_QUESTIONS)) : random;
  const size = sizeOf(content, model === 'Cached' ? 64 * KI : mostBytes, hugeOf(number, 1));
  const answers = model === 'Stream' ? content.integer(0, 12) : 1;
  const mostAnswered = Math.min(mostBytes, LARGEST / Math.max(1, answers));
  const answerSize = model === 'Echo' ? size : sizeOf(content, mostAnswered, hugeOf(number, 2));
  const key = content.integer(0, 2 ** 31);
  const parameters = {
    number: model === 'Cached' ? key % KEPT_QUESTIONS : number,
    size: answerSize,
    ...(model === 'Stream' ? { answers } : {}),
    ...(content.chance(0.5) ? { flag: content.chance(0.5) } : {}),
    ...(content.chance(0.3) ? { ratio: content.integer(1, 1000) + 0.5 } : {}),
    ...(content.chance(0.5) ? { [`word${content.integer(0, 9)}`]: textOf(content, lengthOf(content, 100)) } : {}),
  };
  const axis = BATCHING[model] ? [1] : [];
  const tensors: QuestionTensor[] = [
    { name: 'x', dtype: 'uint8', shape: [...axis, size], data: bytesOf(key ^ (model === 'Cached' ? 0 : number), size) },
    { name: 'note', dtype: 'string', shape: [...axis, 1], data: [textOf(content, lengthOf(content, 60))] },
  ];
  const header = model === 'Cached' ? String(key) : `${number} ${'h'.repeat(lengthOf(random, 60))}`.trim();
  return { number, model, id, parameters, header, tensors, manners, bytes: Math.max(size, answers * answerSize) };
}

function rowsQuestion(random: Random, number: number, more: Pick<Question, 'id' | 'manners'>): Question {
  const rows = random.integer(1, 4);
  const width = random.of(WIDTHS);
  const bytes = 4 * rows * width;
  const values = new Int32Array(bytesOf(number, bytes).slice().buffer);
  for (let row = 0; row < rows; row++) values[row * width] = 4 * number + row;
  const tensors: readonly QuestionTensor[] = [{ name: 'x', dtype: 'int32', shape: [rows, width], data: values }];
  return { number, model: 'Rows', parameters: { number }, header: `${number}`, tensors, bytes, ...more };
}

function mannersOf(random: Random): Manners {
  const givesUp = random.chance(0.04);
  const after = random.weighted({ 0: 2, 1: 2, 3: 1, 10: 1 });
  return { givesUpAfter: givesUp ? Number(after) : undefined, isSlow: random.chance(0.04), draw: random.next() };
}

/** Mostly short, now and then longer than what a block of a connection holds beside other heads. */
function lengthOf(random: Random, usual: number): number {
  return random.chance(0.03) ? random.integer(1000, 5000) : random.integer(0, usual);
}

/** A size in bytes: that of a tensor is at a threshold, or that of the whole message about it. */
function sizeOf(random: Random, most: number, huge: number | undefined): number {
  const kind = random.weighted(SIZES);
  const threshold = huge ?? (kind === 'small' ? undefined : THRESHOLDS[kind]);
  const size =
    threshold === undefined
      ? random.integer(1, random.of([1, 64, 600, 3000]))
      : threshold + random.integer(-1, 1) - (random.chance(0.5) ? random.integer(0, 700) : 0);
  return size > most ? random.integer(1, 600) : size;
}

/** In turns the request is huge, its answer, or both. */
function hugeOf(number: number, side: 1 | 2): number | undefined {
  if (number % HUGE_EVERY !== HUGE_EVERY - 1) return undefined;
  const turn = Math.floor(number / HUGE_EVERY);
  if ((((turn % 3) + 1) & side) === 0) return undefined;
  return turn % 2 === 0 ? 16 * KI * KI : LARGEST - 2;
}

const LETTERS = ['a', 'Z', '0', ' ', '"', '\\', '\n', 'é', '€', '🐎', '\u0001', '}'];

function textOf(random: Random, length: number): string {
  return Array.from({ length }, () => random.of(LETTERS)).join('');
}

export function expectedAnswers(
  question: Question,
  added: Readonly<Record<string, string>>,
): readonly ExpectedAnswer[] {
  const { model, id, parameters, tensors } = question;
  const [x, note] = tensors;
  if (model === 'Rows') return [expectedRows(x!)];
  const asked = {
    model: model === 'Calls' ? 'Threads' : model,
    id: model === 'Cached' || model === 'Calls' ? '' : id,
    parameters: { ...parameters, ...added },
    note: note!.data[0] as string,
    data: x!.data as Uint8Array,
  };
  const before = model === 'Calls' ? `${id} ` : '';
  return [...answersOf(asked)].map(({ y, said }) => ({ y, said: [`${before}${said}`] }));
}

function expectedRows({ shape, data }: QuestionTensor): ExpectedAnswer {
  const [count, width] = shape as [number, number];
  const values = data as Int32Array;
  const rows = Array.from({ length: count }, (_, i) => rowOf(values.subarray(i * width, (i + 1) * width)));
  return {
    y: Buffer.concat(rows.map(({ y }) => new Uint8Array(y.buffer, y.byteOffset, y.byteLength))),
    said: rows.map(({ said }) => said),
  };
}
