// What both the page and the client on Node ask, with the client for browsers.
import { defineModel } from 'tstriton';
import { ModelClient } from 'tstriton/client/browser';

/** Declared apart from the server's module, which no browser can load. */
const languageId = defineModel({
  modelName: 'LanguageId',
  inputs: { text: { dtype: 'string', shape: [1] } },
  outputs: { label: { dtype: 'string', shape: [1] }, scores: { dtype: 'float32', shape: [-1] } },
  strict: true,
});

/** The language of a text, and how sure the model is. */
export async function askLanguage(url: string, text: string): Promise<string> {
  const client = new ModelClient(url, languageId);
  try {
    const { label, scores } = await client.inferSample({ text: [text] });
    return `${label.data[0]} ${Math.max(...scores.data).toFixed(2)}`;
  } finally {
    await client.close();
  }
}
