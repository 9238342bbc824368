import { describe, expect, it } from 'vitest';

import { checkDeployment, type DeploymentOptions } from './deployment-options.js';
import { deployment, kubernetesFiles, service } from './kubernetes.js';

const OPTIONS: DeploymentOptions = {
  name: 'add-sub',
  image: 'registry.example.org/add-sub:1.0',
  namespace: 'models',
  replicas: 3,
  serveArgs: ['model.js', '--log-verbose', '1'],
  httpPort: 8000,
  grpcPort: 8001,
  metricsPort: 8002,
  cpu: '500m',
  memory: '512Mi',
  startupSecs: 62,
  shutdownDelaySecs: 10,
  exitTimeoutSecs: 30,
  tokenSecret: 'token',
  env: { TSTRITON_CONFIG_LOG_INFO: 'false' },
};

describe('the files for Kubernetes', () => {
  it('have pods that the selectors find', () => {
    const selector = { 'app.kubernetes.io/name': 'add-sub' };
    expect(deployment(OPTIONS)).toMatchObject({
      metadata: { name: 'add-sub', namespace: 'models' },
      spec: { replicas: 3, selector: { matchLabels: selector }, template: { metadata: { labels: selector } } },
    });
    expect(service(OPTIONS)).toMatchObject({ metadata: { name: 'add-sub', namespace: 'models' }, spec: { selector } });
  });

  it('leave a server the time that it takes to end, and models the time to load', () => {
    const { spec } = deployment(OPTIONS) as never as { spec: { template: { spec: Record<string, unknown> } } };
    expect(spec.template.spec).toMatchObject({
      terminationGracePeriodSeconds: 50,
      containers: [
        {
          args: ['tstriton', 'serve', 'model.js', '--log-verbose', '1'],
          startupProbe: { httpGet: { path: '/v2/health/ready', port: 'http' }, failureThreshold: 13 },
          livenessProbe: { httpGet: { path: '/v2/health/live', port: 'http' } },
          readinessProbe: { httpGet: { path: '/v2/health/ready', port: 'http' } },
        },
      ],
    });
  });

  it('have the token from a Secret, and the other options as variables', () => {
    const text = kubernetesFiles(OPTIONS)[0]!.content;
    expect(text).toContain('- name: TSTRITON_CONFIG_HTTP_PORT\n              value: "8000"');
    expect(text).toContain('- name: TSTRITON_CONFIG_LOG_INFO\n              value: "false"');
    expect(text).toContain('secretKeyRef:\n                  name: token\n                  key: token');
    expect(kubernetesFiles({ ...OPTIONS, tokenSecret: undefined, namespace: undefined })[0]!.content).not.toMatch(
      /secretKeyRef|namespace|undefined/,
    );
  });

  it.each<[Partial<DeploymentOptions>, string]>([
    [{ name: 'Add_Sub' }, '--name must be at most 63 lower-case letters'],
    [{ name: '1st' }, '--name must be'],
    [{ image: 'a b' }, '--image must be an image'],
    [{ namespace: 'a.b' }, '--namespace must be'],
    [{ cpu: '1Gi' }, '--cpu must be processors, as 2 or 500m, got "1Gi"'],
    [{ memory: '1 GB' }, '--memory must be bytes'],
    [{ env: { 'A-B': '1' } }, '--env must be NAME=value, got "A-B"'],
    [{ grpcPort: 8000 }, '--http-port, --grpc-port and --metrics-port must be three ports, got 8000, 8000, 8002'],
    [{ grpcPort: 0 }, 'a port of a container must be from 1 to 65535, got 0'],
  ])('are not made from %j', (changes, message) => {
    expect(() => checkDeployment({ ...OPTIONS, ...changes })).toThrow(message);
  });
});
