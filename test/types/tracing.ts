// Spans: ours are described by their shape, and are OpenTelemetry's wherever one is wanted.
import { context, trace, type Span as ApiSpan, type SpanContext as ApiSpanContext } from '@opentelemetry/api';

import { batch, defineModel, type CallableOf, type Span, type SpanContext } from 'tstriton';

declare const ours: Span;
declare const theirs: ApiSpan;
export const asOurs: Span = theirs;
export const asTheirs: ApiSpan = ours;
export const ourContext: SpanContext = theirs.spanContext();
export const theirContext: ApiSpanContext = ours.spanContext();

const model = defineModel({
  modelName: 'm',
  inputs: { x: { dtype: 'float32', shape: [1] } },
  outputs: { y: { dtype: 'float32', shape: [1] } },
});

export const spans: CallableOf<typeof model> = batch(({ x }, { span, requests }) => {
  span?.setAttribute('rows', x.rowCount).addEvent('begun', { first: true }).setStatus({ code: 1 });
  requests[0]!.span?.recordException(new Error('not quite'));
  // @ts-expect-error -- there is none unless the request is traced
  requests[0]!.span.isRecording();
  if (span !== undefined) trace.getTracer('mine').startSpan('own', {}, trace.setSpan(context.active(), span)).end();
  return { y: x };
});
