import { describe, expect, it } from 'vitest';

import { RequestGroups, RequestStreams } from './request-streams.js';

describe('RequestStreams', () => {
  it('keeps one stream per request', () => {
    const streams = [() => 1, () => 2];
    expect(new RequestStreams(streams).streams).toBe(streams);
  });

  it('is known, that of another copy of the package too', () => {
    const foreign = Object.defineProperty({}, Symbol.for('tstriton.RequestStreams'), { value: true });
    expect([new RequestStreams([]), foreign].map(RequestStreams.is)).toEqual([true, true]);
    expect([{ streams: [] }, [], null, undefined, 'x', new RequestGroups([])].some(RequestStreams.is)).toBe(false);
  });
});

describe('RequestGroups', () => {
  it('keeps the groups', () => {
    const groups = [{ members: [1], start: () => 1 }];
    expect(new RequestGroups(groups).groups).toBe(groups);
  });

  it('is known, that of another copy of the package too', () => {
    const foreign = Object.defineProperty({}, Symbol.for('tstriton.RequestGroups'), { value: true });
    expect([new RequestGroups([]), foreign].map(RequestGroups.is)).toEqual([true, true]);
    expect([{ groups: [] }, [], null, undefined, 'x', new RequestStreams([])].some(RequestGroups.is)).toBe(false);
  });
});
