// Unix sockets: the file of one is left behind when its process is killed.

import { existsSync, rmSync, statSync } from 'node:fs';
import { createConnection } from 'node:net';
import { dirname } from 'node:path';

/** The kernel takes no longer path, in bytes. */
export const LONGEST_SOCKET_PATH = 107;

/**
 * Removes the file of a Unix socket at which nobody listens any more, and no other file. Rejects where there is no folder for one: Node
 * would say that a permission is missing.
 */
export async function removeDeadSocket(path: string): Promise<void> {
  const code = await new Promise<string | undefined>((resolve) => {
    const socket = createConnection(path, () => {
      socket.destroy();
      resolve(undefined);
    });
    socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code));
  });
  const folder = dirname(path);
  if (code === 'ENOENT' && !existsSync(folder)) throw new Error(`there is no folder ${folder}`);
  // Connections to files of other kinds are refused too.
  const isDead = code === 'ECONNREFUSED' && statSync(path, { throwIfNoEntry: false })?.isSocket() === true;
  if (isDead) rmSync(path, { force: true });
}
