import { describe, expect, it, vi } from 'vitest';

import { TritonError } from '../../errors.js';
import type { LinkedInstance } from '../../link/stream/link-messages.js';
import { RemoteChannel } from '../../link/stream/remote-channel.js';
import { deferred } from '../../lifecycle/deferred.js';
import { completeModelConfig } from '../../model/complete-model.js';
import { type ClosableInstance, ServedOpening, type ServedSurroundings } from '../served-opening.js';
import { type Binder, type BinderLink, RemoteModel } from './remote-model.js';

const CONFIG = completeModelConfig({ modelName: 'm', inputs: {}, outputs: {} }, 1);

/** A process that opens its only instance when the test says so, in channel 1. */
class Process implements BinderLink, Binder {
  readonly link = this;
  readonly isOver = false;
  readonly model = 1;
  readonly instances = 1;
  readonly unbound = new AbortController().signal;
  channelOfInstance: RemoteChannel | undefined;
  readonly #opens = deferred();

  send(): void {}
  close(): void {}

  open() {
    const instances: readonly LinkedInstance[] = [{ channel: 1, hasThread: true }];
    return { number: 1, instances: this.#opens.promise.then(() => instances) };
  }

  channel(): RemoteChannel {
    const onClosed = () => undefined;
    return (this.channelOfInstance = new RemoteChannel({ config: CONFIG, send: () => undefined, onClosed }));
  }

  answer(): void {
    this.#opens.resolve();
  }

  refuse(error: TritonError): void {
    this.#opens.reject(error);
  }
}

function served(...processes: readonly Process[]) {
  const warmUp = vi.fn<(config: unknown, instances: readonly ClosableInstance[]) => Promise<void>>(async () => {});
  const logger = { error: () => undefined, warn: () => undefined, info: () => undefined, verbose: () => undefined };
  const model = new RemoteModel({ config: CONFIG, logger, warmUp });
  for (const process of processes) model.binders.add(process);
  const shared: ServedSurroundings = {
    caller: () => () => undefined,
    openings: new Set(),
    isEnding: false,
    isOwnerBlocked: false,
  };
  const opening = model
    .open(undefined, new AbortController().signal)
    .then((opened) => new ServedOpening(opened, shared));
  return { model, opening, warmUp };
}

/** Until all promises are settled that can be. */
const turn = () => new Promise((resolve) => setImmediate(resolve));

/** One process has given an instance that has ended, and the other one still opens its own. */
async function servedAfterAnEnd() {
  const [first, second] = [new Process(), new Process()];
  const { opening } = served(first, second);
  first.answer();
  await turn();
  first.channelOfInstance!.closed();
  await turn();
  return { opening, second };
}

describe('an instance of another process that ends', () => {
  it('while another process still opens its own is not served with', async () => {
    const { opening, second } = await servedAfterAnEnd();
    second.answer();
    expect((await opening).instances).toHaveLength(1);
  });

  it('is not enough for a load that the other process refuses', async () => {
    const { opening, second } = await servedAfterAnEnd();
    const refused = new TritonError('INTERNAL', 'its setup failed');
    second.refuse(refused);
    await expect(opening).rejects.toBe(refused);
  });

  it('while the process joins is not served with', async () => {
    const [first, second] = [new Process(), new Process()];
    const { model, opening, warmUp } = served(first);
    first.answer();
    const { instances } = await opening;
    expect(instances).toHaveLength(1);
    const warm = deferred();
    warmUp.mockReturnValue(warm.promise);
    const joined = model.join(second);
    second.answer();
    await turn();
    second.channelOfInstance!.closed();
    await turn();
    warm.resolve();
    await joined;
    expect((await opening).instances).toEqual(instances);
  });
});
