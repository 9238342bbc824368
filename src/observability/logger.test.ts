import { expect, it } from 'vitest';

import { instanceLogger } from './logger.js';

it('names model and instance in each line, and the version where there may be several', () => {
  const lines: unknown[] = [];
  const log = (kind: string) => (message: string) => void lines.push([kind, message]);
  const logger = {
    error: log('E'),
    warn: log('W'),
    info: log('I'),
    verbose: (level: number, message: string) => void lines.push([level, message]),
  };
  const first = instanceLogger(logger, { name: 'm', version: 1 }, 0);
  first.error('no');
  first.warn('slow');
  first.info('started');
  first.verbose(2, 'detail');
  instanceLogger(logger, { name: 'm', version: 3 }, 4).info('started');
  expect(lines).toEqual([
    ['E', "instance 0 of model 'm': no"],
    ['W', "instance 0 of model 'm': slow"],
    ['I', "instance 0 of model 'm': started"],
    [2, "instance 0 of model 'm': detail"],
    ['I', "instance 4 of model 'm' version 3: started"],
  ]);
});
