import { describe, expect, it } from 'vitest';

import { logLine, type LogSettings, ServerLogger } from '../logger.js';
import { LogSettingsStore } from './engine-logger.js';

function given() {
  const lines: string[] = [];
  const told: LogSettings[] = [];
  const logger = new ServerLogger({ write: (entry) => void lines.push(logLine(entry)) });
  return {
    lines,
    told,
    logger,
    store: new LogSettingsStore(logger, 'server.log', (settings) => void told.push(settings)),
  };
}

describe('log settings', () => {
  it('are those of the log', () => {
    expect(given().store.get()).toEqual({
      error: true,
      warning: true,
      info: true,
      verboseLevel: 0,
      format: 'default',
    });
  });

  it('change what the log writes, and tell the other threads', () => {
    const { lines, told, logger, store } = given();
    expect(store.update({ info: false, verboseLevel: 2 })).toMatchObject({ info: false, verboseLevel: 2, error: true });
    logger.info('unseen');
    logger.verbose(2, 'seen');
    expect(lines).toHaveLength(1);
    expect(told).toEqual([store.get()]);
  });

  it('tell nobody of an update that says nothing', () => {
    const { told, store } = given();
    store.update({});
    expect(told).toEqual([]);
  });
});
