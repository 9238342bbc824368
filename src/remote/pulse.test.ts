import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import type { Http2Connection } from '../client/grpc/http2-connection.js';
import type { TritonError } from '../errors.js';
import { Pulse } from './pulse.js';

describe('the pulse of a call', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  function beating() {
    const connection = { receivedBytes: 0 };
    const ping = vi.fn<() => void>();
    const onSilent = vi.fn<(error: TritonError) => void>();
    const pulse = new Pulse({ connection: connection as Http2Connection, address: 'grpc://there:1', ping, onSilent });
    return { connection, ping, onSilent, pulse };
  }

  it('asks the server each second', () => {
    const { ping, pulse } = beating();
    vi.advanceTimersByTime(5500);
    expect(ping).toHaveBeenCalledTimes(5);
    pulse.close();
    vi.advanceTimersByTime(5000);
    expect(ping).toHaveBeenCalledTimes(5);
  });

  it('tells once that nothing has come for 30 s', () => {
    const { onSilent } = beating();
    vi.advanceTimersByTime(29_500);
    expect(onSilent).not.toHaveBeenCalled();
    vi.advanceTimersByTime(30_000);
    expect(onSilent).toHaveBeenCalledOnce();
    expect(onSilent.mock.calls[0]![0].message).toBe('grpc://there:1 has sent nothing for 30 s');
  });

  it('takes any byte for a sign of life', () => {
    const { connection, onSilent } = beating();
    for (let minute = 0; minute < 5; minute++) {
      vi.advanceTimersByTime(29_500);
      connection.receivedBytes++;
    }
    expect(onSilent).not.toHaveBeenCalled();
  });
});
