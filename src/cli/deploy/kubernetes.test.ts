import { describe, expect, it } from 'vitest';

import { checkDeployment, type DeploymentOptions } from './deployment-options.js';
import { deployment, kubernetesFiles, service } from './kubernetes.js';

const OPTIONS: DeploymentOptions = {
  name: 'add-sub',
  image: 'registry.example.org/add-sub:1.0',
  namespace: 'models',
  replicas: 3,
  maxReplicas: undefined,
  modelsClaim: undefined,
  storageUri: undefined,
  serviceMonitor: false,
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
      terminationGracePeriodSeconds: 45,
      containers: [
        {
          args: ['tstriton', 'serve', 'model.js', '--log-verbose', '1'],
          startupProbe: { httpGet: { path: '/v2/health/ready', port: 'http' }, failureThreshold: 31 },
          livenessProbe: { httpGet: { path: '/v2/health/live', port: 'http' } },
          readinessProbe: { httpGet: { path: '/v2/health/ready', port: 'http' } },
        },
      ],
    });
  });

  it('serve a model repository when nothing else is named, and mount the claim that it lies in', () => {
    const text = kubernetesFiles({ ...OPTIONS, serveArgs: [], modelsClaim: 'models' })[0]!.content;
    expect(text).toContain('- serve\n            - "--model-repository"\n            - /models\n');
    expect(text).toContain('claimName: models\n            readOnly: true');
    expect(kubernetesFiles(OPTIONS)[0]!.content).not.toMatch(/claim|mountPath: \/models/);
  });

  it('have an autoscaler instead of a number of servers, and a monitor, where they are asked for', () => {
    const named = (changes: Partial<DeploymentOptions>) =>
      kubernetesFiles({ ...OPTIONS, ...changes }).map(({ path }) => path.replace('.yaml', ''));
    expect(named({})).toEqual(['deployment', 'service', 'pod-disruption-budget']);
    expect(named({ maxReplicas: 5, serviceMonitor: true })).toEqual([
      'deployment',
      'service',
      'pod-disruption-budget',
      'horizontal-pod-autoscaler',
      'service-monitor',
    ]);
    expect(deployment({ ...OPTIONS, maxReplicas: 5 })).toMatchObject({ spec: { replicas: undefined } });
  });

  it('have the token from a Secret, and the other options as variables', () => {
    const text = kubernetesFiles(OPTIONS)[0]!.content;
    expect(text).toContain('- name: TSTRITON_CONFIG_SHUTDOWN_DELAY_SECS\n              value: "10"');
    expect(text).not.toContain('_PORT');
    expect(kubernetesFiles({ ...OPTIONS, httpPort: 9000 })[0]!.content).toContain(
      '- name: TSTRITON_CONFIG_HTTP_PORT\n              value: "9000"',
    );
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
    [{ maxReplicas: 2 }, '--max-replicas must be at least --replicas, 3, got 2'],
    [{ modelsClaim: 'A' }, '--models-claim must be the name of a PersistentVolumeClaim'],
    [{ storageUri: 'models' }, '--storage-uri must be a URI that KServe fetches'],
    [{ grpcPort: 0 }, 'a port of a container must be from 1 to 65535, got 0'],
  ])('are not made from %j', (changes, message) => {
    expect(() => checkDeployment({ ...OPTIONS, ...changes })).toThrow(message);
  });
});

describe('options of the server that the files would not follow', () => {
  const given = (changes: Partial<DeploymentOptions>) => () => checkDeployment({ ...OPTIONS, ...changes });

  it.each<[string, Partial<DeploymentOptions>, string]>([
    [
      'a port',
      { env: { TSTRITON_CONFIG_HTTP_PORT: '9000' } },
      '--env TSTRITON_CONFIG_HTTP_PORT would not change the ports, probes and times of the files: give --http-port to deploy itself',
    ],
    [
      'a port by the other prefix',
      { env: { PYTRITON_TRITON_CONFIG_GRPC_PORT: '1' } },
      'give --grpc-port to deploy itself',
    ],
    ['a time', { serveArgs: ['m.js', '--exit-timeout-secs', '600'] }, '-- --exit-timeout-secs would not change'],
    [
      'a time in one word',
      { serveArgs: ['m.js', '--shutdown-delay-secs=60'] },
      '-- --shutdown-delay-secs would not change',
    ],
    [
      'TLS',
      { serveArgs: ['m.js', '--http-use-ssl'] },
      '-- --http-use-ssl does not fit the files: the probes ask at the address of the pod, over HTTP without TLS',
    ],
    ['TLS of gRPC', { env: { TSTRITON_CONFIG_GRPC_USE_SSL: 'true' } }, 'the Service offers gRPC without TLS'],
    ['an address', { env: { TSTRITON_CONFIG_METRICS_ADDRESS: '127.0.0.1' } }, 'autoscalers and monitors ask'],
    [
      'an address in a flag',
      { serveArgs: ['m.js', '--http-address', '::1'] },
      '-- --http-address does not fit the files: the probes ask at the address of the pod, over HTTP without TLS; expected :: or 0.0.0.0, got ::1',
    ],
    [
      'two tokens',
      { env: { TSTRITON_CONFIG_ACCESS_TOKEN: 'x' } },
      '--env TSTRITON_CONFIG_ACCESS_TOKEN and --token-secret both set the access token',
    ],
    [
      'a repository in a variable',
      { env: { TSTRITON_CONFIG_MODEL_REPOSITORY: '/x' } },
      'give -- --model-repository FOLDER',
    ],
    [
      'a repository in a numbered variable',
      { env: { TSTRITON_CONFIG_MODEL_REPOSITORY_0: '/x' } },
      '--env TSTRITON_CONFIG_MODEL_REPOSITORY_0 does not count beside the arguments',
    ],
    [
      'a variable that the server does not know',
      { env: { TSTRITON_CONFIG_LOG_INFOS: 'false' } },
      '--env: unknown environment variable TSTRITON_CONFIG_LOG_INFOS, did you mean TSTRITON_CONFIG_LOG_INFO?',
    ],
    [
      'a value that the server refuses',
      { env: { TSTRITON_CONFIG_LOG_VERBOSE: 'high' } },
      'TSTRITON_CONFIG_LOG_VERBOSE must be an integer, got "high"',
    ],
    [
      'a repository beside the claim',
      { modelsClaim: 'c', serveArgs: ['--model-repository', '/srv'] },
      '--models-claim is mounted at /models, expected -- --model-repository /models, got /srv',
    ],
  ])('are refused: %s', (_, changes, message) => {
    expect(given(changes)).toThrow(message);
  });

  it('are no addresses that stand for all of a pod', () => {
    const env = { TSTRITON_CONFIG_HTTP_ADDRESS: '::', PYTRITON_TRITON_CONFIG_METRICS_ADDRESS: '0.0.0.0' };
    expect(given({ env, serveArgs: ['m.js', '--grpc-address', '::', '--http-address=::'] })).not.toThrow();
  });

  it('are not all options', () => {
    const env = { TSTRITON_CONFIG_LOG_VERBOSE: '1', TSTRITON_CONFIG_METRICS_CONFIG_0: 'x=1', HTTP_PORT: '1' };
    expect(
      given({ env, modelsClaim: 'c', serveArgs: ['--model-repository=/models/a', '--log-info=false'] }),
    ).not.toThrow();
  });
});
