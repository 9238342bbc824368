// The callable of the hostile suite: it gives back what it gets.

import type { InferenceRequest } from 'tstriton';

export default (requests: readonly InferenceRequest[]): readonly InferenceRequest[] => requests;
