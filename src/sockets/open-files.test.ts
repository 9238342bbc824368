import { afterEach, describe, expect, it, vi } from 'vitest';

import { OpenFiles } from './open-files.js';

afterEach(() => void vi.useRealTimers());

/** What is told when looks find these, one each half second; a dot for each look. */
function told(looks: readonly (string | undefined)[]): string {
  vi.useFakeTimers();
  const left = [...looks];
  let text = '';
  const look = () => ((text += '.'), left.shift());
  const files = new OpenFiles({ onNone: (code) => (text += code), onEnough: () => (text += 'enough') }, look);
  files.watch();
  files.watch();
  vi.advanceTimersByTime(500 * looks.length);
  files.close();
  vi.advanceTimersByTime(5000);
  return text;
}

const free = (count: number) => Array.from({ length: count }, () => undefined);

describe('open files', () => {
  it('are no news while there are enough', () => {
    expect(told(free(4))).toBe('....');
  });

  it('are told once when there are none, and once when that has been over for five seconds', () => {
    expect(told([undefined, 'EMFILE', 'EMFILE', 'EMFILE', ...free(12)])).toBe('..EMFILE............enough..');
  });

  it('that come and go are told as one spell', () => {
    expect(told(['ENFILE', ...free(9), 'EMFILE', ...free(9), 'EMFILE'])).toBe('.ENFILE....................');
  });

  it('are told again when they are gone again', () => {
    expect(told(['EMFILE', ...free(10), 'EMFILE'])).toBe('.EMFILE..........enough.EMFILE');
  });

  it('can be opened as long as the system lets them', () => {
    vi.useFakeTimers();
    const onNone = vi.fn<() => void>();
    const files = new OpenFiles({ onNone, onEnough: onNone });
    files.watch();
    vi.advanceTimersByTime(2000);
    files.close();
    expect(onNone).not.toHaveBeenCalled();
  });
});
