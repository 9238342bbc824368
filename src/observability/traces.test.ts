import { afterEach, describe, expect, it, vi } from 'vitest';

import { epochNow, isSampled, parseTraceparent, readTraceContext, traceparentText } from './traces.js';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const SPAN = 'b7ad6b7169203331';

describe('traceparent', () => {
  it.each([
    ['a sampled one', `00-${TRACE}-${SPAN}-01`, 1, true],
    ['an unsampled one', `00-${TRACE}-${SPAN}-00`, 0, false],
    ['flags that are not known', `00-${TRACE}-${SPAN}-fe`, 0xfe, false],
    ['space around it', ` 00-${TRACE}-${SPAN}-03 `, 3, true],
    ['a later version, with more behind', `cc-${TRACE}-${SPAN}-01-what.the-future`, 1, true],
  ])('is read: %s', (_what, text, flags, sampled) => {
    const parsed = parseTraceparent(text)!;
    expect(parsed).toEqual({ traceId: TRACE, spanId: SPAN, flags });
    expect(isSampled(parsed)).toBe(sampled);
  });

  it.each([
    ['nothing', ''],
    ['the version that is none', `ff-${TRACE}-${SPAN}-01`],
    ['more behind version 00', `00-${TRACE}-${SPAN}-01-more`],
    ['a trace of zeros', `00-${'0'.repeat(32)}-${SPAN}-01`],
    ['a span of zeros', `00-${TRACE}-${'0'.repeat(16)}-01`],
    ['capitals', `00-${TRACE.toUpperCase()}-${SPAN}-01`],
    ['a short span', `00-${TRACE}-${SPAN.slice(1)}-01`],
    ['other white space around it', `\xa000-${TRACE}-${SPAN}-01`],
    ['two of them', `00-${TRACE}-${SPAN}-01, 00-${TRACE}-${SPAN}-01`],
  ])('is none: %s', (_what, text) => {
    expect(parseTraceparent(text)).toBeUndefined();
  });

  it('is written as it is read', () => {
    for (const text of [`00-${TRACE}-${SPAN}-01`, `00-${TRACE}-${SPAN}-00`, `00-${TRACE}-${SPAN}-ff`]) {
      expect(traceparentText(parseTraceparent(text)!)).toBe(text);
    }
  });
});

describe('the trace of a request', () => {
  const read = (headers: Readonly<Record<string, string>>) => readTraceContext((name) => headers[name]);

  it('is what its headers say', () => {
    expect(read({ traceparent: 'p', tracestate: 'a=1' })).toEqual({ traceparent: 'p', tracestate: 'a=1' });
    expect(read({ traceparent: 'p' })).toEqual({ traceparent: 'p', tracestate: undefined });
  });

  it('is none without a traceparent', () => {
    expect(read({ tracestate: 'a=1' })).toBeUndefined();
  });
});

describe('the clock of spans', () => {
  afterEach(() => void vi.restoreAllMocks());

  it('is the wall clock, with fractions of a millisecond', () => {
    const before = Date.now();
    const moments = Array.from({ length: 20 }, () => epochNow());
    const after = Date.now();
    // The two clocks of the machine may differ by a millisecond, and one of them has lost its fraction.
    expect(moments[0]).toBeGreaterThan(before - 2);
    expect(moments.at(-1)).toBeLessThan(after + 3);
    expect(moments.toSorted((a, b) => a - b)).toEqual(moments);
  });

  it('takes the fractions of the monotonic clock while the two agree', () => {
    const precise = performance.timeOrigin + 250.25;
    vi.spyOn(performance, 'now').mockReturnValue(250.25);
    vi.spyOn(Date, 'now').mockReturnValue(Math.floor(precise));
    expect(epochNow()).toBe(precise);
  });

  it.each([-60_000, 60_000])('follows the wall clock when it was set by %d ms', (by) => {
    const wall = Date.now() + by;
    vi.spyOn(Date, 'now').mockReturnValue(wall);
    expect(epochNow()).toBe(wall);
  });
});
