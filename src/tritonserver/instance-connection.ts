// One connection of a `model.py`: takes its batches, runs them on an instance of the model, and sends the answers back.

import type { Socket } from 'node:net';

import type { Execution, ModelInstance } from '../core/instance/model-instance.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import { decodeBatchFrame } from './decode-batch.js';
import { EntryStream, sendResults } from './entries.js';
import { BATCH, CANCEL, type Frame, GOODBYE, malformed } from './frame.js';

interface Running {
  readonly execution: Execution;
  readonly count: number;
}

export class InstanceConnection {
  readonly #socket: Socket;
  readonly #config: CompleteModelConfig;
  readonly #instance: ModelInstance;
  readonly #running = new Map<number, Running>();
  /** Whether tritonserver has ended the instance in order. */
  isOver = false;

  constructor(socket: Socket, config: CompleteModelConfig, instance: ModelInstance) {
    this.#socket = socket;
    this.#config = config;
    this.#instance = instance;
  }

  /** Takes a frame of model.py. Throws INVALID_ARG for one that is malformed. */
  take(frame: Frame): void {
    if (frame.kind === BATCH) return this.#execute(frame);
    if (frame.kind === GOODBYE) {
      this.isOver = true;
      return;
    }
    if (frame.kind !== CANCEL) throw malformed(`frames of kind ${frame.kind} do not come from it`);
    for (const index of frame.head.subarray(0, frame.count)) this.#running.get(frame.id)?.execution.cancel(index);
  }

  /** The connection is gone: nobody waits for the batches under way. */
  lost(): void {
    for (const { execution, count } of this.#running.values())
      for (let index = 0; index < count; index++) execution.cancel(index);
    this.#running.clear();
  }

  #execute(frame: Frame): void {
    const { id } = frame;
    const config = this.#config;
    const batch = decodeBatchFrame(frame, config);
    const stream = config.decoupled ? new EntryStream(this.#socket, id, config) : undefined;
    let isDone = false;
    const execution = this.#instance.execute(
      batch,
      (results) => {
        isDone = true;
        this.#running.delete(id);
        if (stream === undefined) sendResults(this.#socket, id, { results, config });
        else stream.done(results);
      },
      stream,
    );
    if (!isDone) this.#running.set(id, { execution, count: batch.length });
    // This batch has none to go with: model.py waits for its answers.
    this.#instance.flush?.();
  }
}
