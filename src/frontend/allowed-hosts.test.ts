import { expect, it } from 'vitest';

import { AllowedHosts } from './allowed-hosts.js';

const hosts = new AllowedHosts(['models.example.org', '.svc.cluster.local']);

it.each([
  'models.example.org',
  'MODELS.example.org.:8000',
  'svc.cluster.local',
  'm.ns.svc.cluster.local:80',
  'localhost:8000',
  'page.localhost',
  '10.0.0.7:8000',
  '[::1]:8001',
])('answers %j', (host) => {
  expect(hosts.refusal(host)).toBeUndefined();
});

it.each([
  'evil.example',
  'example.org',
  'x.models.example.org',
  'xsvc.cluster.local',
  '1.2.3.4.evil.example',
  '127.1',
  '',
])('does not answer %j', (host) => {
  expect(hosts.refusal(host)).toBe(`host '${host}' is not answered, see the option allowedHosts`);
});

it('does not answer those that name no host', () => {
  expect(hosts.refusal(undefined)).toBe("host '' is not answered, see the option allowedHosts");
});

it('answers everybody without a list', () => {
  for (const host of ['evil.example', '', undefined]) expect(new AllowedHosts([]).refusal(host)).toBeUndefined();
});
