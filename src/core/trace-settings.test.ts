import { describe, expect, it } from 'vitest';
import { TraceSettingsStore } from './trace-settings.js';

describe('trace settings', () => {
  it('start with the defaults of Triton', () => {
    expect(new TraceSettingsStore().get('')).toEqual({ level: ['OFF'], rate: 1000, count: -1, logFrequency: 0 });
  });

  it('of a model are those of the server until it sets its own', () => {
    const store = new TraceSettingsStore();
    store.update('', { rate: 5, count: 7 });
    expect(store.get('model')).toMatchObject({ rate: 5, count: 7 });
    expect(store.update('model', { rate: 9 })).toMatchObject({ rate: 9, count: 7 });
    store.update('', { rate: 321, count: 3 });
    expect(store.get('model')).toMatchObject({ rate: 9, count: 3 });
    expect(store.get('other')).toMatchObject({ rate: 321, count: 3 });
  });

  it('go back to what is inherited when cleared with null', () => {
    const store = new TraceSettingsStore();
    store.update('', { rate: 5 });
    store.update('model', { rate: 9, logFrequency: 2 });
    expect(store.update('model', { rate: null })).toMatchObject({ rate: 5, logFrequency: 2 });
    expect(store.update('', { rate: null })).toMatchObject({ rate: 1000 });
  });

  it('stay as they are where an update does not mention them', () => {
    const store = new TraceSettingsStore();
    store.update('', { count: 3 });
    expect(store.update('', {})).toMatchObject({ count: 3 });
  });

  it.each([[['TIMESTAMPS'] as const], [['TIMESTAMPS', 'TENSORS'] as const]])(
    'refuse the levels %j, for which there is no file, and keep everything as it was',
    (level) => {
      const store = new TraceSettingsStore();
      expect(() => store.update('model', { level, rate: 2 })).toThrow(
        'Attempting to set invalid trace setting :trace file name is not given',
      );
      expect(store.get('model')).toMatchObject({ level: ['OFF'], rate: 1000 });
    },
  );

  it('take the level OFF', () => {
    expect(new TraceSettingsStore().update('', { level: ['OFF'] }).level).toEqual(['OFF']);
  });

  it('of a model are forgotten with it', () => {
    const store = new TraceSettingsStore();
    store.update('model', { rate: 9 });
    store.forget('model');
    expect(store.get('model').rate).toBe(1000);
  });
});
