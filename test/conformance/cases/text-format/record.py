"""Records what Python's google.protobuf.text_format answers, for text-format.test.ts.

    pip install protobuf==5.29.3
    python test/conformance/cases/text-format/record.py > test/conformance/cases/text-format/recorded.jsonl

Each line: the text, and the message as JSON, or null where Python refuses it. The random texts have a fixed seed.
"""

import base64
import json
import pathlib
import random
import re
import sys

from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory, text_format

root = pathlib.Path(__file__).parents[4]
generated = (root / "src/protocol/grpc/generated/model_config_pb.ts").read_text()
encoded = re.search(r'fileDesc\("([^"]*)"', generated).group(1)
file = descriptor_pb2.FileDescriptorProto.FromString(base64.b64decode(encoded + "=" * (-len(encoded) % 4)))
pool = descriptor_pool.DescriptorPool()
pool.Add(file)
ModelConfig = message_factory.GetMessageClass(pool.FindMessageTypeByName("inference.ModelConfig"))

WHOLE = r'''
# The forms that occur in public model repositories.
name: "densenet"   # a comment
platform: "onnxruntime_onnx"
max_batch_size : 0
input [
  {
    name: "data_0"
    data_type: TYPE_FP32
    format: FORMAT_NCHW
    dims: [ 3, 224, 224 ]
    reshape { shape: [ 1, 3, 224, 224 ] }
  },
  { name: 'ids', data_type: 9; dims: -1 dims: 0x10 dims: 010 optional: true }
]
output < name: "fc6" "_1" data_type: TYPE_STRING dims: [ 1000 ] label_filename: "labels\x2etxt" >
version_policy: { specific { versions: [1, 3,5] } }
instance_group [ { count: 2 kind: KIND_CPU }, { kind: 1 gpus: [ 0, 1 ] } ]
dynamic_batching {
  preferred_batch_size: [ 4, 8 ]
  max_queue_delay_microseconds: 18446744073709551615
  priority_levels: 18446744073709551615
  default_queue_policy { timeout_action: DELAY default_timeout_microseconds: 100 max_queue_size: 4294967295 }
  priority_queue_policy [ { key: 1 value: { allow_timeout_override: True } }, { key: 2 value < timeout_action: REJECT > } ]
}
parameters: { key: "intra_op_thread_count" value: { string_value: "1" } }
parameters { key: "gpt\tmodel" value { string_value: "\303\244\U0001F600\u00e4" } }
model_warmup [ { name: "w" batch_size: 1 inputs { key: "ids" value: { data_type: TYPE_INT64 dims: [ 1 ] zero_data: true } } } ]
optimization { graph: { level: -1 } execution_accelerators { cpu_execution_accelerator : [ { name : "openvino" } ] }
  input_pinned_memory { enable: f } cuda { graph_spec { input { key: "a" value { dim: [ 1, 2 ] } } } } }
metric_tags { key: "a" value: "b" } metric_tags: { key: "a", value: "c"; }
cc_model_filenames [ { key: "7.5" value: "model.plan" } ]
model_transaction_policy { decoupled: t }
response_cache { enable: 1 }
model_metrics { metric_control { metric_identifier { family: "x" } histogram_options { buckets: [ -1.5, .5, 1., 1e3, 2E-2f, 3f, inf, -Infinity, nan, 7, -0 ] } } }
'''

CASES = [
    "", "   \n\t# only a comment", "name:\"a\"", "name: 'a' 'b' \"c\"", "name: \"a\" # c\n 'b'", "name \"a\"", "name: a", "name: 1",
    "name: \"a\" name: \"b\"", "name: \"a", "name: \"a\nb\"", "name: \"a\\\nb\"", "name: \"\\q\"", "name: \"\\400\"", "name: \"\\377\"",
    "name: \"\\u00e4\"", "name: \"\\ud83d\\ude00\"", "name: \"\\ud83d\"", "name: \"\\U0001f600\"", "name: \"\\U00110000\"",
    "name: \"\\x\"", "name: \"\\x4\\x41\\x414\"", "name: \"\\1\\12\\101\"", "name: \"\\a\\b\\f\\n\\r\\t\\v\\?\\\\\\'\\\"\"", "name: \"\u00e4\U0001f600\"",
    "max_batch_size: 8", "max_batch_size: -8", "max_batch_size: - 8", "max_batch_size: --8", "max_batch_size: +8", "max_batch_size: 8.0",
    "max_batch_size: 0x1F", "max_batch_size: -0x1f", "max_batch_size: 017", "max_batch_size: 08", "max_batch_size: 00", "max_batch_size: 0x",
    "max_batch_size: 2147483647", "max_batch_size: 2147483648", "max_batch_size: -2147483648", "max_batch_size: -2147483649",
    "max_batch_size: 1e3", "max_batch_size: 8a", "max_batch_size: 8 name: \"a\"", "max_batch_size: 8name: \"a\"", "max_batch_size: \"8\"",
    "max_batch_size: [8]", "max_batch_size", "max_batch_size:", "max_batch_size: 8,", "max_batch_size: 8;", "max_batch_size: 8,,", "max_batch_size: 8,;",
    ", name: \"a\"", "max_batch_size: true", "max_batch_size: 99999999999999999999999999999999999999", "maxBatchSize: 8", "max_batchsize: 8", "MAX_BATCH_SIZE: 8",
    "4: 8", "input {}", "input: {}", "input <>", "input: <>", "input {} input {}", "input [{}, <>]", "input: [{}, {}]", "input []", "input: []", "input [{},]", "input [{} {}]",
    "input {", "input }", "input { >", "input < }", "input ({})", "input { name: \"a\" }, input { name: \"b\" };", "input { name: \"a\", data_type: TYPE_FP32; dims: 1 }",
    "input { dims: [1, 2, 3] }", "input { dims: [] }", "input { dims: [1, 2,] }", "input { dims: [1 2] }", "input { dims [1] }", "input { dims: 1 dims: [2] dims: 3 }",
    "input { dims: [[1]] }", "input { dims: [-1] }", "input { dims: 9223372036854775807 }", "input { dims: 9223372036854775808 }", "input { dims: -9223372036854775808 }",
    "input { data_type: TYPE_FP32 }", "input { data_type: 11 }", "input { data_type: \"TYPE_FP32\" }", "input { data_type: type_fp32 }", "input { data_type: FP32 }",
    "input { data_type: -1 }", "input { data_type: 0xb }", "input { optional: true }", "input { optional: True }", "input { optional: TRUE }", "input { optional: t }",
    "input { optional: f }", "input { optional: False }", "input { optional: 1 }", "input { optional: 0 }", "input { optional: 2 }", "input { optional: 0x1 }", "input { optional: 01 }",
    "input { optional: -1 }", "input { optional: yes }", "input { reshape { } }", "input { reshape { shape: 1 } reshape { shape: 2 } }", "input { reshape: { shape: [1] } }",
    "dynamic_batching { }", "dynamic_batching { max_queue_delay_microseconds: -1 }", "dynamic_batching { max_queue_delay_microseconds: 18446744073709551616 }",
    "dynamic_batching {} sequence_batching {}", "dynamic_batching {} dynamic_batching {}", "version_policy { latest { num_versions: 2 } }",
    "version_policy { latest {} all {} }", "version_policy: { all {} }", "version_policy { all: {} }", "version_policy { all }", "version_policy { latest { num_versions: 4294967296 } }",
    "parameters { }", "parameters { key: \"a\" }", "parameters { value { string_value: \"b\" } }", "parameters { key: \"a\" value { } key: \"b\" }",
    "parameters [{ key: \"a\" value { string_value: \"b\" } }, { key: \"a\" value { string_value: \"c\" } }]", "parameters { key \"a\" }", "parameters { name: \"a\" }",
    "parameters { key: \"a\", value: < string_value: 'b' >, }", "metric_tags { key: \"a\" value: \"b\" }", "metric_tags { key: \"a\" value \"b\" }", "metric_tags { key: 1 }",
    "[foo.bar]: 1", "[type.googleapis.com/foo.Bar] { }", "sequence_batching { direct { minimum_slot_utilization: 0.25 } }",
    "sequence_batching { direct { minimum_slot_utilization: 1e400 } }", "sequence_batching { direct { minimum_slot_utilization: .5F } }",
    "sequence_batching { control_input [ { control [ { kind: CONTROL_SEQUENCE_START fp32_false_true: [ 0, 1 ] bool_false_true: [ false, true ] int32_false_true: [ 0, 1 ] } ] } ] }",
    "sequence_batching { direct {} oldest {} }", "optimization { priority: PRIORITY_MAX }",
    *(f"model_metrics {{ metric_control {{ histogram_options {{ buckets: {number} }} }} }}" for number in (
        "1", "-1", "1.", ".1", "1.5", "1e5", "1E+5", "1e-5", "1e", "1.5f", "1F", "1ff", "inf", "INF", "-inf", "infinity", "Infinity", "nan", "NaN", "-nan",
        "infinit", "1..2", "1.2.3", "1_000", "0x10", "010", "1e400", "-1e400", "00.5", "- 1.5", ".", "-", "1 e5", "\"1\"", "[1, 2.5, -3]", "[]", "0", "-0", "-0.0", "[1.5 , nan]", "0.1f", "1e5F")),
    "name: \"a\" \"\\xff\"", "name: \"\x00\"", "name: \"\x01\"", "\ufeffname: \"a\"", "name: \"a\"\r\nmax_batch_size: 1\r\n", "name: \"a\"\fmax_batch_size: 1\v", "name:\"a\"max_batch_size:1",
    "name: \"a\" @", "name: \"a\" \u00e4", "input { name: \"a\" } # }", "input { # }\n name: \"a\" }", "/* no comment */", "// no comment", WHOLE,
    "model_repository_agents { agents [ { name: \"a\" parameters { key: \"b\" value: \"c\" } } ] }", "ensemble_scheduling { step [ { model_name: \"a\" model_version: -1 input_map { key: \"x\" value: \"y\" } } ] }",
]


def mutated(count: int) -> list[str]:
    """Texts near the whole one: tokens dropped, doubled, swapped, and characters changed."""
    chance = random.Random(14)
    tokens = re.findall(r'#[^\n]*\n|"(?:[^"\\]|\\.)*"|\'[^\']*\'|[\w.]+|\s+|.', WHOLE)
    pieces = ["{", "}", "<", ">", "[", "]", ":", ",", ";", "-", "1", "0x1", "1.5", '"s"', "name", "dims", "TYPE_FP32", "true", " ", "#", "\n", "\\", "'"]
    texts = []
    for _ in range(count):
        start = chance.randrange(len(tokens) // 2)
        own = tokens if chance.random() < 0.3 else tokens[start : start + chance.randrange(4, 60)]
        own = list(own)
        for _ in range(chance.randrange(1, 4)):
            at = chance.randrange(len(own))
            match chance.randrange(4):
                case 0:
                    del own[at]
                case 1:
                    own.insert(at, own[at])
                case 2:
                    own[at] = chance.choice(pieces)
                case 3:
                    own.insert(at, chance.choice(pieces))
            if not own:
                own = ["name"]
        texts.append("".join(own))
    return texts


def answer(text: str):
    try:
        message = text_format.Parse(text, ModelConfig(), descriptor_pool=pool)
    except (text_format.ParseError, UnicodeError, ValueError):
        return None
    return json_format.MessageToDict(message, preserving_proto_field_name=True, descriptor_pool=pool)


short = sorted({text for text in mutated(20_000) if len(text) < 300})
random.Random(15).shuffle(short)
taken = [text for text in short if answer(text) is not None][:200]
refused = [text for text in short if answer(text) is None][:200]
for text in [*CASES, *taken, *refused]:
    sys.stdout.write(json.dumps({"text": text, "message": answer(text)}, ensure_ascii=True) + "\n")
