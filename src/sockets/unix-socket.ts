// Unix sockets: the file of one is left behind when its process is killed.

import { unlinkSync } from 'node:fs';
import { createConnection } from 'node:net';

/** The kernel takes no longer path, in bytes. */
export const LONGEST_SOCKET_PATH = 107;

/** Removes the file of a Unix socket at which nobody listens any more. */
export async function removeDeadSocket(path: string): Promise<void> {
  const code = await new Promise<string | undefined>((resolve) => {
    const socket = createConnection(path, () => {
      socket.destroy();
      resolve(undefined);
    });
    socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code));
  });
  if (code === 'ECONNREFUSED') unlinkSync(path);
}
