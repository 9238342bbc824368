import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

import { emptyFolder } from '../../test/support/temporary-files.js';
import { watchedProcess } from '../../test/support/watched-process.js';
import { removeDeadSocket } from './unix-socket.js';

it('removes the socket that a killed process has left', async () => {
  const path = join(emptyFolder('tstriton-socket-'), 'dead');
  const dead = watchedProcess(['-e', `require('net').createServer().listen('${path}', () => console.log('up'))`]);
  await dead.wrote('up');
  await removeDeadSocket(path);
  expect(existsSync(path)).toBe(true);
  dead.kill('SIGKILL');
  await dead.ended;
  await removeDeadSocket(path);
  expect(existsSync(path)).toBe(false);
});

it('leaves a file that is no socket', async () => {
  const path = join(emptyFolder('tstriton-socket-'), 'precious');
  writeFileSync(path, 'data');
  await removeDeadSocket(path);
  expect(existsSync(path)).toBe(true);
});

it('says that the folder is missing', async () => {
  const folder = join(emptyFolder('tstriton-socket-'), 'none');
  await expect(removeDeadSocket(join(folder, 'socket'))).rejects.toThrow(`there is no folder ${folder}`);
});
