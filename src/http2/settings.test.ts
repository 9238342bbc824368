import { describe, expect, it } from 'vitest';
import { encodeSettings, INITIAL_SETTINGS, readSettings, SETTING } from './settings.js';

function read(...entries: readonly (readonly [number, number])[]) {
  const bytes = encodeSettings(entries);
  return readSettings(INITIAL_SETTINGS, bytes, { start: 0, end: bytes.length });
}

describe('readSettings', () => {
  it('takes what is told and leaves the rest', () => {
    expect(read()).toEqual(INITIAL_SETTINGS);
    expect(read([SETTING.INITIAL_WINDOW_SIZE, 0], [SETTING.MAX_CONCURRENT_STREAMS, 0])).toEqual({
      ...INITIAL_SETTINGS,
      initialWindowSize: 0,
      maxConcurrentStreams: 0,
    });
    expect(
      read([SETTING.HEADER_TABLE_SIZE, 0xffffffff], [SETTING.MAX_HEADER_LIST_SIZE, 7], [SETTING.MAX_FRAME_SIZE, 16384]),
    ).toMatchObject({ headerTableSize: 0xffffffff, maxHeaderListSize: 7, maxFrameSize: 16384 });
  });

  it('takes the last of several values, and ignores settings that it does not know', () => {
    expect(read([4, 1], [4, 2], [0x99, 5], [0, 1], [SETTING.ENABLE_PUSH, 1])).toEqual({
      ...INITIAL_SETTINGS,
      initialWindowSize: 2,
    });
  });

  it.each([
    [SETTING.ENABLE_PUSH, 2, 'PROTOCOL_ERROR'],
    [SETTING.INITIAL_WINDOW_SIZE, 0x80000000, 'FLOW_CONTROL_ERROR'],
    [SETTING.MAX_FRAME_SIZE, 16_383, 'PROTOCOL_ERROR'],
    [SETTING.MAX_FRAME_SIZE, 16_777_216, 'PROTOCOL_ERROR'],
  ])('refuses setting %i with %i', (id, value, code) => {
    expect(() => read([id, value])).toThrow(expect.objectContaining({ code }));
  });
});
