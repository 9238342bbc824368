import { expect, it } from 'vitest';

import { RemoteTriton } from './remote-triton.js';

it('may connect again when nothing could be opened', async () => {
  // Only the build has the entry of the link's thread.
  const remote = new RemoteTriton('grpc://127.0.0.1:1', { accessToken: 't' });
  const missing = { code: 'UNSUPPORTED', message: expect.stringContaining("the entry of the link's thread") as string };
  await expect(remote.connect()).rejects.toMatchObject(missing);
  await expect(remote.connect()).rejects.toMatchObject(missing);
  await remote.stop();
});
