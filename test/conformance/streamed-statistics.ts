// What statistics tell of the streams of decoupled models, which Triton counts as one answer each over HTTP, and not at
// all in the recorded version over gRPC: how often there was a response of each number, and how the streams ended.

export interface StreamedRequest {
  readonly responses: number;
  readonly end: 'fail' | 'empty_response' | 'cancel' | 'final';
}

/** A duration with a count; times are masked, so that there is one or none. */
export interface CountedDuration {
  readonly count: number;
  readonly ns: 0 | 1;
}

export type CountedResponse = Readonly<
  Record<'compute_infer' | 'compute_output' | 'success' | 'fail' | 'empty_response' | 'cancel', CountedDuration>
>;

/** `response_stats` after these requests, by the number of the response. */
export function responseStatistics(requests: readonly StreamedRequest[]): Readonly<Record<string, CountedResponse>> {
  const counts = requests.map(({ responses, end }) => (end === 'final' ? responses : responses + 1));
  const numbers = Array.from({ length: Math.max(...counts) }, (_, number) => number);
  return Object.fromEntries(
    numbers.map((number): [string, CountedResponse] => {
      const sent = counted(requests.filter(({ responses }) => responses > number).length);
      const ended = (end: StreamedRequest['end']) =>
        counted(requests.filter((request) => request.responses === number && request.end === end).length);
      return [
        String(number),
        {
          compute_infer: sent,
          compute_output: sent,
          success: sent,
          fail: ended('fail'),
          empty_response: ended('empty_response'),
          cancel: ended('cancel'),
        },
      ];
    }),
  );
}

export function counted(count: number): CountedDuration {
  return { count, ns: count === 0 ? 0 : 1 };
}
