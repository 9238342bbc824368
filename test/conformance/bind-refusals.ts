// What our `bind` says when it refuses a recorded call: the part of the text that tells the mistake, by the model's name.
// PyTriton says some of it itself, lets other mistakes crash, and finds the rest when Triton cannot load the model.

export const BIND_REFUSALS: Readonly<Record<string, string>> = {
  cache_decoupled:
    "Response Cache does not currently support model 'cache_decoupled' with 'decoupled' transaction policy",
  preferred_too_big: 'preferred size must be <= max batch size',
  preferred_zero: 'preferred size must be positive',
  priorities_no_default: 'default priority level must be in range [1, 3]',
  priorities_default_too_big: 'default priority level must be in range [1, 2]',
  default_priority_alone: 'config.batcher.defaultPriorityLevel of',
  ordering_priorities: "Only one priority level is allowed when 'preserve_ordering' is true",
  queue_ordering_delay: "Queue policy can not have DELAY as timeout action when 'preserve_ordering' is true",
  queue_priority_no_levels: 'config.batcher.priorityQueuePolicy of',
  queue_priority_zero: 'priority queue policy must have priority level in range [1, 2]',
  queue_priority_too_big: 'priority queue policy must have priority level in range [1, 2]',
  max_zero: 'config.maxBatchSize of',
  max_negative: 'config.maxBatchSize of',
  max_float: 'config.maxBatchSize of',
  dims_zero: 'must hold integers >= 1, or -1 for any size, got 0 in [0]',
  dims_minus_two: 'must hold integers >= 1, or -1 for any size, got -2 in [-2]',
  optional_output: 'Output tensors cannot be optional',
  dtype_text_TYPE_FP32: 'unknown dtype "TYPE_FP32"',
  dtype_python_int: 'unknown dtype Number',
  dtype_python_float: 'unknown dtype Number',
  dtype_python_bool: 'unknown dtype Boolean',
  dtype_python_str: 'unknown dtype String',
  dtype_str_: 'unknown dtype "str_"',
  dtype_complex64: 'unknown dtype "complex64"',
  dtype_datetime64: 'unknown dtype "datetime64"',
  dtype_none: 'unknown dtype null',
};

/** Of calls that PyTriton takes. */
export const MORE_REFUSALS: Readonly<Record<string, string>> = {
  delay_negative: "config.batcher.maxQueueDelayMicroseconds of model 'delay_negative' must be an integer >= 0, got -1",
  instances0: "inferFunc of model 'instances0' is an empty list",
  warmup: 'exactly one of zeroData, randomData and inputDataFile must be given',
  unnamed_clash: "input 'INPUT_1' of model 'unnamed_clash' is declared twice",
  twice_same_input: "input 'a' of model 'twice_same_input' is declared twice",
  twice_same_output: "output 'y' of model 'twice_same_output' is declared twice",
  empty_tensor_name: 'has an empty name',
};
