import { expect, it } from 'vitest';

import { expectedOf, surprises, verdictsOf } from './report.mjs';

const REPORT = `<testsuites>
  <testsuite name="5.1. Stream States" package="http2/5.1">
    <testcase package="http2/5.1" classname="idle: Sends a DATA frame" time="0.0010"></testcase>
    <testcase package="http2/5.1" classname="closed: Sends a DATA frame" time="2.0067">
      <error>GOAWAY Frame (opaque_data:\x02\xff)
</error>
    </testcase>
  </testsuite>
  <testsuite name="6.5.3." package="http2/6.5.3">
    <testcase package="http2/6.5.3" classname="Sends multiple values" time="0.0000"><skipped></skipped></testcase>
  </testsuite>
</testsuites>`;

const LIST = `# what is known
fails    http2/5.1/2     for some reason
skipped  http2/6.5.3/1
`;

it('finds each case by its number, with its verdict', () => {
  expect([...verdictsOf(REPORT)]).toEqual([
    ['http2/5.1/1', 'passes'],
    ['http2/5.1/2', 'fails'],
    ['http2/6.5.3/1', 'skipped'],
  ]);
});

it('is not surprised by what is expected', () => {
  expect(surprises(verdictsOf(REPORT), expectedOf(LIST))).toEqual([]);
});

it('is surprised by a new failure, by one that is none any more, and by a case that is gone', () => {
  const list = 'fails http2/5.1/1\nskipped http2/6.5.3/1\nfails http2/9/9\n';
  expect(surprises(verdictsOf(REPORT), expectedOf(list))).toEqual([
    'http2/5.1/1 passes, expected: fails',
    'http2/5.1/2 fails, expected: passes',
    'http2/9/9 is not there, expected: fails',
  ]);
});

it('lets a case that varies pass or fail, not be skipped', () => {
  const varies = expectedOf('varies http2/5.1/1\nvaries http2/5.1/2\nvaries http2/6.5.3/1');
  expect(surprises(verdictsOf(REPORT), varies)).toEqual(['http2/6.5.3/1 skipped, expected: varies']);
});

it('refuses a list that it does not understand', () => {
  expect(() => expectedOf('sometimes http2/5.1/1')).toThrow('not understood: sometimes http2/5.1/1');
});
