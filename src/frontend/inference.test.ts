import { describe, expect, it, vi } from 'vitest';

import { Stages } from './inference.js';

const stage = () => ({ cancel: vi.fn<() => void>() });

describe('the stages of a request', () => {
  it('cancel the one that is under way', () => {
    const stages = new Stages();
    const [first, second] = [stage(), stage()];
    stages.begin(() => first);
    stages.begin(() => second);
    stages.cancel();
    stages.cancel();
    expect(first.cancel).not.toHaveBeenCalled();
    expect(second.cancel).toHaveBeenCalledOnce();
  });

  it('know the one that began within another', () => {
    const stages = new Stages();
    const [outer, inner] = [stage(), stage()];
    stages.begin(() => {
      stages.begin(() => inner);
      return outer;
    });
    stages.cancel();
    expect([outer, inner].map(({ cancel }) => cancel.mock.calls.length)).toEqual([0, 1]);
  });

  it('cancel what begins after the cancellation', () => {
    const stages = new Stages();
    stages.cancel();
    const late = stage();
    stages.begin(() => late);
    expect(late.cancel).toHaveBeenCalledOnce();
  });

  it('cancel nothing that has ended', () => {
    const stages = new Stages();
    const [over, ended] = [stage(), stage()];
    stages.begin(() => undefined);
    stages.begin(() => over);
    stages.end();
    stages.begin(() => ended);
    stages.cancel();
    expect([over, ended].map(({ cancel }) => cancel.mock.calls.length)).toEqual([0, 0]);
  });
});
