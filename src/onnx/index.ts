/**
 * Models from ONNX files.
 *
 * @module tstriton/onnx
 */

export { onnx, type OnnxModel, type OnnxOptions } from './onnx.js';
export type { OnnxState } from './onnx-inner-tensors.js';
export type { OnnxExecutionProvider, OnnxInstanceOptions, OnnxOptimizationLevel } from './onnx-session.js';
