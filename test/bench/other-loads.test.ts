// What wrk and h2load print, as they print it.
import { describe, expect, it } from 'vitest';

import { readH2load, readWrk } from '../../bench/load/other-loads.js';

const WRK = `Running 2s test @ http://127.0.0.1:8000/v2/models/Identity/infer
  1 threads and 16 connections
  30213 requests in 2.00s, 12.31MB read
Requests/sec:  15091.27
Transfer/sec:      6.15MB
`;
const H2LOAD = `finished in 1.00s, 10824.00 req/s, 4.53MB/s
requests: 10824 total, 10840 started, 10824 done, 10824 succeeded, 0 failed, 0 errored, 0 timeout
status codes: 10824 2xx, 0 3xx, 0 4xx, 0 5xx
`;

describe("the load programs' reports", () => {
  it('have the rate and no errors', () => {
    expect(readWrk(WRK)).toEqual({ requestsPerSecond: 15091.27, errors: 0 });
    expect(readH2load(H2LOAD)).toEqual({ requestsPerSecond: 10824, errors: 0 });
  });

  it('have their errors together', () => {
    const socket = '  Socket errors: connect 1, read 2, write 3, timeout 4\n  Non-2xx or 3xx responses: 10\n';
    expect(readWrk(WRK.replace('Requests/sec', `${socket}Requests/sec`)).errors).toBe(20);
    const bad = H2LOAD.replace('0 failed, 0 errored, 0 timeout', '1 failed, 2 errored, 3 timeout').replace(
      '0 4xx, 0 5xx',
      '4 4xx, 5 5xx',
    );
    expect(readH2load(bad).errors).toBe(15);
  });

  it('are refused where they have no rate', () => {
    expect(() => readWrk('unable to connect')).toThrow('no rate in what the load program printed: unable to connect');
  });
});
