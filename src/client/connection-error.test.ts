// A request is safe to send again only when its connection was never made.
import { describe, expect, it } from 'vitest';

import { connectionError } from './connection-error.js';
import { TritonConnectionError } from './client-errors.js';
import { retryAdviceOf } from './retry-advice.js';

const failed = (syscall: string, code: string) => Object.assign(new Error(`${syscall} ${code}`), { syscall, code });

describe('connectionError', () => {
  it.each([
    failed('connect', 'ECONNREFUSED'),
    failed('connect', 'EHOSTUNREACH'),
    failed('connect', 'ENETUNREACH'),
    failed('connect', 'ETIMEDOUT'),
    failed('getaddrinfo', 'EAI_AGAIN'),
    new AggregateError([failed('connect', 'ETIMEDOUT'), failed('connect', 'ECONNREFUSED')]),
  ])('knows that nothing was sent: %s', (cause) => {
    const error = connectionError(cause, 'http://h');
    expect(error).toMatchObject({ code: 'UNAVAILABLE', requestSent: false });
    expect(retryAdviceOf(error)).toEqual({ unexecuted: true });
  });

  // Routes may go away behind a request, and the system tells it at a read.
  it.each([
    failed('read', 'ECONNRESET'),
    failed('read', 'EHOSTUNREACH'),
    failed('read', 'ENETUNREACH'),
    failed('read', 'ETIMEDOUT'),
    failed('write', 'EPIPE'),
    new Error('the server closed the connection'),
    new AggregateError([failed('connect', 'ETIMEDOUT'), failed('read', 'ECONNRESET')]),
  ])('cannot know what was executed: %s', (cause) => {
    const error = connectionError(cause, 'http://h');
    expect(TritonConnectionError.is(error)).toBe(true);
    expect(error).toMatchObject({ requestSent: true });
    expect(retryAdviceOf(error)).toEqual({ unexecuted: false });
  });

  const OPENSSL = (reason: string) =>
    `807C:error:0A00010B:SSL routines:ssl3_get_record:${reason}:../deps/openssl/record.c:350:\n`;
  it.each([
    ['ERR_SSL_WRONG_VERSION_NUMBER', OPENSSL('wrong version number'), 'it speaks no TLS; is it http:// or grpc://?'],
    ['EPROTO', `write EPROTO ${OPENSSL('wrong version number')}`, 'it speaks no TLS; is it http:// or grpc://?'],
    [
      'ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL',
      OPENSSL('tlsv1 alert no application protocol'),
      'it speaks another protocol; is it https:// or grpcs://?',
    ],
    [
      'EPROTO',
      `write EPROTO ${OPENSSL('tlsv13 alert certificate required')}`,
      'TLS failed: tlsv13 alert certificate required',
    ],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'self-signed', 'self-signed certificate; to trust it, give it in tls.ca'],
  ])('says in one line why TLS failed: %s %j', (code, message, reason) => {
    const error = connectionError(Object.assign(new Error(message), { code }), 'https://h');
    expect(error.message).toBe(`https://h is not available: ${reason}`);
  });

  it('advises nothing against what lasts', () => {
    const error = connectionError(failed('getaddrinfo', 'ENOTFOUND'), 'http://h');
    expect(error).toMatchObject({ requestSent: false });
    expect(retryAdviceOf(error)).toBeUndefined();
  });
});
