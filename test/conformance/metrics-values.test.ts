import { expect, it } from 'vitest';
import { comparableMetrics } from './metrics-values.js';

const MODEL = '{model="m",version="1"}';

function compared(...lines: readonly string[]): readonly string[] {
  return comparableMetrics(`# HELP f text\n# TYPE f counter\n${lines.join('\n')}\n`)
    .trimEnd()
    .split('\n')
    .slice(2);
}

it('reads a time as one when something was timed, and as the number that it is when nothing was', () => {
  const duration = `nv_inference_queue_duration_us${MODEL}`;
  const success = `nv_inference_request_success${MODEL}`;
  expect(compared(`${success} 2`, `${duration} 1234`)).toContain(`${duration} a time`);
  expect(compared(`${success} 0`, `${duration} 0`)).toContain(`${duration} 0`);
  expect(compared(`${success} 0`, `${duration} 7`)).toContain(`${duration} 7`);
  expect(compared(`${success} 2`, `${duration} -3`)).toContain(`${duration} -3`);
  expect(compared(`${success} 2`, `${duration} NaN`)).toContain(`${duration} NaN`);
});

it('sees a request that took less time than its parts', () => {
  const part = (name: string, value: number) => `nv_inference_${name}_duration_us${MODEL} ${value}`;
  const parts = [part('queue', 5), part('compute_input', 1), part('compute_infer', 3), part('compute_output', 1)];
  const counts = [`nv_inference_request_success${MODEL} 1`, `nv_inference_count${MODEL} 1`];
  expect(compared(...counts, ...parts, part('request', 10))).toContain(
    `nv_inference_request_duration_us${MODEL} a time`,
  );
  expect(compared(...counts, ...parts, part('request', 9))).toContain(
    `nv_inference_request_duration_us${MODEL} 9 < its parts`,
  );
});

it('reads buckets that grow up to the count in one line, and shows the others', () => {
  const bucket = (bound: string, value: number) => `h_bucket{le="${bound}",model="m"} ${value}`;
  const histogram = (...values: readonly [number, number]) =>
    compared(bucket('1', values[0]), bucket('+Inf', values[1]), 'h_count{model="m"} 2', 'h_sum{model="m"} 0.5');
  expect(histogram(1, 2)).toContain('h_bucket{model="m"} at 1 +Inf: up to the count');
  expect(histogram(3, 2)).toContain('h_bucket{model="m"} at 1 +Inf: 3 2');
  expect(histogram(1, 1)).toContain('h_bucket{model="m"} at 1 +Inf: 1 1');
});

it('keeps counts, whatever their names', () => {
  expect(compared(`nv_inference_exec_count${MODEL} 3`)).toEqual([`nv_inference_exec_count${MODEL} 3`]);
});
