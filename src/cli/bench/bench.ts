// What `tstriton bench` does.

import { performance } from 'node:perf_hooks';

import { invalidArg, TritonError } from '../../errors.js';
import type { CliIo } from '../cli-io.js';
import { askedModel, type AskedModel } from '../infer/asked-model.js';
import { inputsFromArguments } from '../infer/given-inputs.js';
import { untilInterrupted } from '../interrupted.js';
import { progress } from '../progress.js';
import { sampleTensor } from '../sample-values.js';
import { styleFor } from '../style.js';
import { Tensor } from '../../tensor/tensor.js';
import { runLoad, type Answered, type LoadFigures } from './run-load.js';
import { SequenceLoad } from './sequence-load.js';
import { jsonFigures, showFigures } from './show-figures.js';
import type { AccessFlags } from '../server-access.js';

/** The flags of `tstriton bench`. */
export interface BenchFlags extends AccessFlags {
  readonly concurrency: number;
  readonly duration: number;
  readonly requests?: number;
  readonly warmup: number;
  readonly rows: number;
  readonly sequences?: number;
  readonly sequenceLength?: number;
  readonly input?: readonly string[];
  readonly modelVersion?: number;
  readonly json?: boolean;
  readonly binary: boolean;
}

const PROGRESS_MILLISECONDS = 100;

/** Undefined without sequences. */
function lengthOf({ sequences, sequenceLength = 20 }: BenchFlags): number | undefined {
  return sequences === undefined ? undefined : sequenceLength;
}

export async function bench(url: string, name: string, flags: BenchFlags, io: CliIo): Promise<void> {
  if (flags.sequenceLength !== undefined && flags.sequences === undefined)
    throw invalidArg('--sequence-length is of sequences: give --sequences too');
  let figures: LoadFigures | undefined;
  await untilInterrupted(io, async (signal) => {
    // The stream of a sequence that has ended may still be there when the next one begins.
    const maxConcurrency = flags.sequences === undefined ? flags.concurrency : 2 * flags.sequences;
    const asked = await askedModel(url, name, flags, { io, signal, maxConcurrency });
    try {
      figures = await load(asked, flags, { io, signal });
    } finally {
      await asked[Symbol.asyncDispose]();
    }
  }).catch((error: unknown) => {
    // After Ctrl-C, too, the command shows the figures it has.
    if (figures !== undefined) tell(figures);
    throw error;
  });
  if (figures === undefined) return;
  tell(figures);
  const { failed, requests } = figures;
  if (failed > 0) throw new TritonError('UNAVAILABLE', `${failed} of ${failed + requests} requests failed`);

  function tell(measured: LoadFigures): void {
    const { sequences, concurrency, rows } = flags;
    const all = {
      url,
      model: name,
      concurrency: sequences ?? concurrency,
      rows,
      sequenceLength: lengthOf(flags),
      figures: measured,
    };
    io.out(
      flags.json === true
        ? `${JSON.stringify(jsonFigures(all))}\n`
        : showFigures(all, styleFor(io.terminal.out, io.env)),
    );
  }
}

async function load(
  { model, client }: AskedModel,
  flags: BenchFlags,
  { io, signal }: { readonly io: CliIo; readonly signal: AbortSignal },
): Promise<LoadFigures> {
  const given = inputsFromArguments(flags.input ?? [], model.inputs);
  const needed = model.inputs.filter((spec) => !spec.optional && given[spec.name] === undefined);
  const rows = model.maxBatchSize > 0 ? flags.rows : undefined;
  const isBatch = rows !== undefined && rows > 1;
  if (flags.rows > 1 && !isBatch) {
    throw new TritonError('INVALID_ARG', `--rows is for models that batch, and '${model.name}' does not`);
  }
  if (isBatch && flags.rows > model.maxBatchSize)
    throw invalidArg(`--rows must be at most ${model.maxBatchSize} for model '${model.name}', got ${flags.rows}`);
  const made = needed.map((spec) => [spec.name, sampleTensor(spec, isBatch ? rows : undefined)] as const);
  const repeated = Object.entries(given).map(([name, value]) => [name, isBatch ? times(value, rows) : value] as const);
  const inputs = Object.fromEntries([...made, ...repeated]);
  if (flags.sequences !== undefined && model.decoupled) {
    throw new TritonError(
      'INVALID_ARG',
      `--sequences is for models that answer each request once, and '${model.name}' is decoupled`,
    );
  }
  const length = lengthOf(flags);
  const sequences = length === undefined ? undefined : new SequenceLoad(client, inputs, length);
  const send = async (sender: number): Promise<Answered> => {
    if (sequences !== undefined) return sequences.send(sender);
    if (!model.decoupled) {
      await (isBatch ? client.inferBatch(inputs) : client.inferSample(inputs));
      return { answers: 1, firstMs: undefined };
    }
    const begin = performance.now();
    let answered: Answered = { answers: 0, firstMs: undefined };
    for await (const _ of isBatch ? client.streamBatch(inputs) : client.streamSample(inputs)) {
      const { answers, firstMs = performance.now() - begin } = answered;
      answered = { answers: answers + 1, firstMs };
    }
    return answered;
  };
  const bar = progress(io);
  let shown = -Infinity;
  try {
    return await runLoad(send, {
      concurrency: flags.sequences ?? flags.concurrency,
      warmupMs: flags.warmup * 1000,
      durationMs: flags.duration * 1000,
      requests: flags.requests,
      signal,
      onRequest: (share, measured) => {
        const now = performance.now();
        if (now - shown < PROGRESS_MILLISECONDS) return;
        shown = now;
        bar.update(share, measured === 0 ? 'warming up' : `${measured} requests`);
      },
    });
  } finally {
    bar.clear();
    await sequences?.end();
  }
}

/** A row as many times, one below the other. */
function times<T>(row: T, rows: number): T | readonly T[] | Tensor {
  if (Tensor.is(row)) return Tensor.stack(Array.from({ length: rows }, () => row));
  return Array.from({ length: rows }, () => row);
}
