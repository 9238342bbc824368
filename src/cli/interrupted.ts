// Ends a command early: on Ctrl-C, or when the reader of its output stops reading.

import { TritonError } from '../errors.js';
import type { CliIo } from './cli-io.js';

/** Ctrl-C: the command ends with 130. */
export class Interrupted extends TritonError {
  constructor() {
    super('CANCELLED', 'interrupted');
  }
}

/**
 * Runs what a command does with a signal that aborts when it is to end. Rejects with `Interrupted` after Ctrl-C, of which a
 * second one ends the process as it ends any; resolves when nobody reads the output any more.
 */
export async function untilInterrupted(io: CliIo, run: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const controller = new AbortController();
  const interrupted = new Interrupted();
  const onInterrupt = () => controller.abort(interrupted);
  const onClosed = () => controller.abort();
  process.once('SIGINT', onInterrupt);
  io.outputClosed.addEventListener('abort', onClosed, { once: true });
  try {
    await run(controller.signal);
  } catch (error) {
    if (!controller.signal.aborted) throw error;
  } finally {
    process.off('SIGINT', onInterrupt);
    io.outputClosed.removeEventListener('abort', onClosed);
  }
  if (controller.signal.reason === interrupted) throw interrupted;
}
