import { describe, expect, it } from 'vitest';

import { TritonError } from '../errors.js';
import { listenFailure, withOptions } from './listen-failure.js';

const failed = (code: string, message: string) => Object.assign(new Error(message), { code });

describe('a port that could not be opened', () => {
  it.each([
    [
      failed('EADDRINUSE', 'listen EADDRINUSE'),
      "Socket '0.0.0.0:8000' already in use",
      "Socket '0.0.0.0:8000' already in use; choose another httpPort, or 0 for any free one",
    ],
    [
      failed('EACCES', 'listen EACCES: permission denied'),
      "cannot listen on '0.0.0.0:8000': listen EACCES: permission denied",
      "cannot listen on '0.0.0.0:8000': listen EACCES: permission denied; see httpAddress and httpPort",
    ],
  ])('after %o is UNAVAILABLE and names what to change', (cause, message, withHint) => {
    const failure = listenFailure(cause, '0.0.0.0', 8000);
    expect(failure).toMatchObject({ code: 'UNAVAILABLE', message, cause });
    expect(withOptions(failure, 'http')).toMatchObject({ code: 'UNAVAILABLE', message: withHint, cause });
  });

  it('is another failure where nothing was to be opened', () => {
    const failure = new TritonError('INVALID_ARG', 'no such certificate', { cause: failed('ENOENT', 'open cert.pem') });
    expect(withOptions(failure, 'grpc')).toBe(failure);
  });
});
