// Checks the calls of other models that come from another process: the head of each, and the layout of the inputs. The engine
// checks the inputs themselves, as those of any request.

import { invalidArg } from '../../errors.js';
import { REQUEST_LIMITS } from '../../model/request-limits.js';
import { isDatatype } from '../../tensor/dtype.js';
import { CALL, type CallHead, type CallMessage } from '../messages.js';
import { headerOf, NumbersChecker } from './check-outputs.js';
import { checkParameters, expectArray, expectRecord, expectText, expectWhole } from './check-values.js';

/** Checks a message of calls. `took` is called with the id of each. */
export function checkCalls([, heads, numbers, inputs]: readonly unknown[], took: (id: number) => void): CallMessage {
  const all = expectArray(heads, 'heads of calls').map(checkHead);
  const places = expectArray(numbers, 'calls').map((number) => expectWhole(number, 'a call'));
  if (places.length % 2 !== 0) throw invalidArg('a call has no head');
  for (let i = 0; i < places.length; i += 2) {
    if (places[i + 1]! >= all.length) throw invalidArg(`a call has the head ${places[i + 1]!} of ${all.length}`);
    took(places[i]!);
  }
  return [CALL, all, places, checkTensors(inputs, places.length / 2)];
}

function checkHead(value: unknown): CallHead {
  const [modelName, modelVersion, callers, outputs, priority, timeout, streams, parameters, traceContext] = expectArray(
    value,
    'the head of a call',
  );
  if (typeof streams !== 'boolean') throw invalidArg('a call does not say whether it streams');
  if (parameters !== undefined) checkParameters(parameters);
  if (traceContext !== undefined) expectText(expectRecord(traceContext, 'a trace')['traceparent'], 'a trace');
  return [
    expectText(modelName, 'a call'),
    expectText(modelVersion, 'a call'),
    expectArray(callers, 'callers of a call').map((name) => expectText(name, 'callers of a call')),
    expectArray(outputs, 'outputs of a call').map((name) => expectText(name, 'outputs of a call')),
    expectWhole(priority, 'a call'),
    expectWhole(timeout, 'a call'),
    streams,
    parameters as CallHead[7],
    traceContext as CallHead[8],
  ];
}

/** Checks packed tensors: as many lists, each with its tensors. */
function checkTensors(value: unknown, count: number): CallMessage[3] {
  const [kinds, buffers] = expectArray(value, 'inputs of calls').map((each) => expectArray(each, 'inputs of calls'));
  if (kinds === undefined || buffers === undefined || kinds.length % 2 !== 0) throw invalidArg('calls have no inputs');
  kinds.forEach((text, index) => {
    if (index % 2 === 1 && !isDatatype(expectText(text, 'an input')))
      throw invalidArg(`an input has the datatype ${String(text)}`);
    expectText(text, 'an input');
  });
  if (buffers.length === 0 || !buffers.every((buffer) => buffer instanceof ArrayBuffer))
    throw invalidArg('inputs of calls have no bytes');
  const header = headerOf(buffers[0]!, 'a frame of inputs');
  const reader = new NumbersChecker(header);
  reader.at = 1;
  reader.next(count, count);
  for (let call = 0; call < count; call++) {
    for (let left = reader.next(0, header.length); left > 0; left--) {
      reader.next(0, kinds.length / 2 - 1);
      for (let rank = reader.next(0, REQUEST_LIMITS.rank); rank > 0; rank--) reader.next(0, Number.MAX_SAFE_INTEGER);
      const place = reader.next(0, buffers.length - 1);
      const size = buffers[place]!.byteLength - (place === 0 ? header.length * 8 : 0);
      const offset = reader.next(0, size);
      reader.next(0, size - offset);
    }
  }
  if (!reader.isAtEnd) throw invalidArg(`a frame of inputs has more than ${count} lists`);
  return [kinds as readonly string[], buffers];
}
