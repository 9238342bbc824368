import { describe, expect, it } from 'vitest';

import { isSampled, parseTraceparent, readTraceContext, traceparentText } from './trace-context.js';

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
