import { describe, expect, it } from 'vitest';

import type { SecurePort } from '../frontend/port-tls.js';
import { readTritonConfig } from './read-triton-config.js';
import { tlsFiles } from './tls-files.js';
import type { TritonConfig } from './generated/triton-config.js';

const invalid = (message: string) => expect.objectContaining({ code: 'INVALID_ARG', message });

describe.each<SecurePort>(['grpc', 'http'])('TLS of the %s port', (port) => {
  const FILES = { [`${port}ServerCert`]: 'cert.pem', [`${port}ServerKey`]: 'key.pem' };
  const ROOT = { [`${port}RootCert`]: 'root.pem' };
  const files = (config: TritonConfig) => tlsFiles(readTritonConfig(config, {}).config, port);

  it('is off unless it is asked for, whatever the other port has', () => {
    expect(files({})).toBeUndefined();
    const other = port === 'grpc' ? 'http' : 'grpc';
    const given = { [`${other}UseSsl`]: true, [`${other}ServerCert`]: 'c', [`${other}ServerKey`]: 'k' };
    expect(files(given)).toBeUndefined();
  });

  it('is mutual with either option given', () => {
    const config = { ...FILES, ...ROOT, [`${port}UseSslMutual`]: true };
    const tls = { port, serverCert: 'cert.pem', serverKey: 'key.pem', rootCert: 'root.pem', mutual: true };
    expect(files(config)).toEqual(tls);
    expect(files({ ...config, [`${port}UseSsl`]: true })).toEqual(tls);
    expect(files({ ...config, [`${port}UseSslMutual`]: false, [`${port}UseSsl`]: true })).toEqual({
      ...tls,
      mutual: false,
    });
  });

  it('comes from the environment, too', () => {
    const prefix = `TSTRITON_CONFIG_${port.toUpperCase()}`;
    const environment = {
      [`${prefix}_USE_SSL`]: 'true',
      [`${prefix}_SERVER_CERT`]: 'cert.pem',
      [`${prefix}_SERVER_KEY`]: 'key.pem',
    };
    expect(tlsFiles(readTritonConfig({}, environment).config, port)).toEqual({
      port,
      serverCert: 'cert.pem',
      serverKey: 'key.pem',
      rootCert: undefined,
      mutual: false,
    });
  });

  it.each([
    [{ UseSsl: true }, 'UseSsl needs ServerCert, the path of a PEM file'],
    [{ UseSsl: true, ServerCert: 'c' }, 'UseSsl needs ServerKey, the path of a PEM file'],
    [{ ServerCert: 'c', ServerKey: 'k', UseSslMutual: true }, 'UseSslMutual needs RootCert, the path of a PEM file'],
    [{ ServerKey: 'k' }, 'ServerKey needs UseSsl: true, got false'],
    [{ RootCert: 'r', UseSsl: false }, 'RootCert needs UseSsl: true, got false'],
  ])('is refused when options do not go together: %j', (given, message) => {
    const config = Object.fromEntries(Object.entries(given).map(([name, value]) => [port + name, value]));
    const text = message.replace(/(?:Use|Server|Root)[A-Z]/g, (name) => port + name);
    expect(() => readTritonConfig(config, {})).toThrow(invalid(text));
  });
});
