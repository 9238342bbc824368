// Entry point tstriton/onnx: models from ONNX files.

export { onnx, type OnnxModel, type OnnxOptions } from './onnx.js';
export type { OnnxExecutionProvider, OnnxInstanceOptions, OnnxOptimizationLevel } from './onnx-session.js';
