// Whether the ports are free that a server of this environment would take.

import { createServer } from 'node:net';

import { readTritonConfig } from '../../config/read-triton-config.js';
import { TritonError } from '../../errors.js';
import type { Finding } from './finding.js';
import { masked } from './masked.js';

type Env = Readonly<Record<string, string | undefined>>;

export async function portFindings(env: Env): Promise<readonly Finding[]> {
  try {
    const { config, warnings } = readTritonConfig({}, env);
    const ports = [
      ['HTTP', config.allowHttp, config.httpAddress, config.httpPort],
      ['gRPC', config.allowGrpc, config.grpcAddress, config.grpcPort],
      ['metrics', config.allowMetrics, config.metricsAddress, config.metricsPort],
      ['Vertex AI', config.allowVertexAi, config.httpAddress, config.vertexAiPort],
      ['SageMaker', config.allowSagemaker, config.httpAddress, config.sagemakerPort],
    ] as const;
    const findings = ports
      .filter(([, isServed]) => isServed)
      .map(([name, , address, port]) => portFinding(name, address, port));
    const warned = warnings.map((text): Finding => ({ name: 'variables', status: 'warning', text }));
    return [...warned, ...(await Promise.all(findings))];
  } catch (error) {
    return [{ name: 'variables', status: 'failed', text: masked('', TritonError.from(error).message) }];
  }
}

function portFinding(name: string, host: string, port: number): Promise<Finding> {
  const where = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  if (port === 0) return Promise.resolve({ name, status: 'ok', text: `${where}, any free one` });
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', ({ code = 'unknown' }: NodeJS.ErrnoException) => {
      const reasons: Readonly<Record<string, string>> = {
        EADDRINUSE: 'taken; is a server running already?',
        EACCES: 'not allowed to this user',
        EADDRNOTAVAIL: 'no address of this machine',
      };
      resolve({
        name,
        status: code === 'EADDRINUSE' ? 'warning' : 'failed',
        text: `${where} is ${reasons[code] ?? code}`,
      });
    });
    server.listen({ host, port }, () => server.close(() => resolve({ name, status: 'ok', text: `${where} is free` })));
  });
}
