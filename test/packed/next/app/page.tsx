'use client';

import { useState } from 'react';
import { ModelClient } from 'tstriton/client';

import { double } from './models';

export default function Page() {
  const [answer, setAnswer] = useState('');
  async function ask() {
    const client = new ModelClient(location.origin, double);
    const { y } = await client.inferSample({ x: [1, 2] });
    await client.close();
    setAnswer(JSON.stringify(y?.toNested()));
  }
  return (
    <button onClick={ask}>
      {double.modelName} {answer}
    </button>
  );
}
