import { describe, expect, it } from 'vitest';
import { TraceSettingsStore } from './trace-settings.js';

describe('trace settings', () => {
  it('start with the defaults of Triton', () => {
    expect(new TraceSettingsStore().get('')).toEqual({
      mode: 'triton',
      file: '',
      level: ['OFF'],
      rate: 1000,
      count: -1,
      logFrequency: 0,
    });
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
});

/** Which of so many requests are traced, by number; `forced` are those whose caller traces them. */
function traced(store: TraceSettingsStore, requests: number, { model = 'm', forced = [] as readonly number[] } = {}) {
  const numbers = Array.from({ length: requests }, (_, index) => index + 1);
  return numbers.filter((number) => store.sample(model, forced.includes(number)));
}

describe('tracing', () => {
  const start = {
    mode: 'opentelemetry',
    file: '',
    level: ['TIMESTAMPS'],
    rate: 3,
    count: -1,
    logFrequency: 0,
  } as const;

  it('is never done by a server that was started without it', () => {
    const store = new TraceSettingsStore();
    store.update('', { rate: 1 });
    expect(traced(store, 3, { forced: [1, 2] })).toEqual([]);
  });

  it('is of every so-many-th request', () => {
    expect(traced(new TraceSettingsStore(start), 9)).toEqual([3, 6, 9]);
  });

  it('ends when the count has run down, which shows', () => {
    const store = new TraceSettingsStore({ ...start, count: 2 });
    expect(traced(store, 5)).toEqual([3]);
    expect(store.get('').count).toBe(1);
    expect(traced(store, 9)).toEqual([1]);
    expect(store.get('').count).toBe(0);
  });

  it('is of every request whose caller traces it, which counts like any other', () => {
    const store = new TraceSettingsStore({ ...start, count: 2 });
    expect(traced(store, 10, { forced: [3, 4] })).toEqual([3, 4, 6]);
    expect(store.get('').count).toBe(0);
    expect(traced(new TraceSettingsStore({ ...start, rate: 0 }), 5, { forced: [2] })).toEqual([2]);
  });

  it('is not done at level OFF, whoever asks for it', () => {
    const store = new TraceSettingsStore({ ...start, level: ['OFF'] });
    expect(traced(store, 4, { forced: [1] })).toEqual([]);
    store.update('', { level: ['TIMESTAMPS'] });
    expect(traced(store, 3)).toEqual([3]);
    expect(store.update('', { level: null }).level).toEqual(['OFF']);
    expect(traced(store, 3)).toEqual([]);
  });

  it('counts the requests of models with settings of their own apart', () => {
    const store = new TraceSettingsStore({ ...start, rate: 2 });
    store.update('own', { count: 5 });
    expect(['own', 'm', 'own', 'other'].map((model) => store.sample(model, false) !== undefined)).toEqual([
      false,
      false,
      true,
      true,
    ]);
    expect(store.get('own').count).toBe(4);
    expect(store.get('m').count).toBe(-1);
  });

  it('of a model goes on with what is left of its own count when other settings change', () => {
    const store = new TraceSettingsStore({ ...start, rate: 1 });
    store.update('own', { count: 5 });
    traced(store, 2, { model: 'own' });
    expect(store.update('own', { rate: 2 }).count).toBe(3);
    store.update('', { level: ['TIMESTAMPS'] });
    expect(store.get('own').count).toBe(3);
    expect(store.update('own', { count: null }).count).toBe(-1);
  });

  it('refuses the level of tensors', () => {
    const store = new TraceSettingsStore(start);
    expect(() => store.update('', { level: ['TIMESTAMPS', 'TENSORS'], rate: 9 })).toThrow(
      'Attempting to set invalid trace setting :mode opentelemetry has the levels OFF and TIMESTAMPS, got TENSORS',
    );
    expect(store.get('').rate).toBe(3);
  });

  it('into a file has the level of tensors, and is of no request for its caller', () => {
    const store = new TraceSettingsStore({ ...start, mode: 'triton', file: 'trace.json' });
    expect(store.isFollowing).toBe(false);
    const level = ['TIMESTAMPS', 'TENSORS'] as const;
    expect(store.update('', { level, logFrequency: 2 })).toMatchObject({ level, file: 'trace.json', logFrequency: 2 });
    expect(traced(store, 4)).toEqual([3]);
  });

  it('says so among the settings', () => {
    expect(new TraceSettingsStore(start).get('m').mode).toBe('opentelemetry');
  });
});
