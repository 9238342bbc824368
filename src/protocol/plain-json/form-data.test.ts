import { describe, expect, it } from 'vitest';

import { finishPaced } from '../../pacing/paced-work.js';
import { readFormData, type FormDataType } from './form-data.js';
import { bodyType } from './media-type.js';

function read(body: Buffer | string, contentType = 'multipart/form-data; boundary=b') {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  return finishPaced(readFormData(bytes, bodyType(contentType) as FormDataType));
}

/** A form as the Fetch standard sends it. */
async function sent(form: FormData) {
  const request = new Request('http://localhost', { method: 'POST', body: form });
  return read(Buffer.from(await request.arrayBuffer()), request.headers.get('content-type')!);
}

const part = (head: string, content = 'c') => `--b\r\n${head}\r\n\r\n${content}\r\n`;
const NAMED = 'Content-Disposition: form-data; name="x"';

describe('readFormData', () => {
  it('reads what fetch sends, with the bytes as they are', async () => {
    const form = new FormData();
    const bytes = Uint8Array.from({ length: 3_000_000 }, (_, i) => (i * 7) % 256);
    form.append('a', '1');
    form.append('a', 'zwei ✓');
    form.append('', 'odd');
    form.delete('');
    form.append('quo"te\r\n', '');
    form.append('image', new Blob([bytes], { type: 'image/PNG' }), 'cat.png');
    const parts = await sent(form);
    expect([...parts.keys()]).toEqual(['a', 'quo"te\r\n', 'image']);
    expect(parts.get('a')!.map(({ content }) => content.toString())).toEqual(['1', 'zwei ✓']);
    expect(parts.get('a')![0]).toMatchObject({ type: '', isFile: false });
    expect(parts.get('quo"te\r\n')![0]!.content).toHaveLength(0);
    const [image] = parts.get('image')!;
    expect(image).toMatchObject({ type: 'image/png', isFile: true, isEmptyFile: false });
    expect(image!.content.equals(bytes)).toBe(true);
  });

  it('reads content that looks like a boundary, blanks behind one, and an empty part', () => {
    const body = `--b\r\n${NAMED}\r\n\r\n--b\r\n--\r\n-- b\r\n--b \t\r\n${NAMED}\r\nContent-Type: text/plain; charset=x\r\n\r\n\r\n--b--\r\n`;
    expect(() => read(body)).toThrow(/header behind part 'x'/);
    const parts = read(body.replace('\r\n\r\n--b\r\n--\r\n', '\r\n\r\n -b\r\n--\r\n'));
    expect(parts.get('x')!.map(({ content, type }) => [content.toString(), type])).toEqual([
      [' -b\r\n--\r\n-- b', ''],
      ['', 'text/plain'],
    ]);
  });

  it('knows the file field of a browser in which nobody has chosen a file', () => {
    const body = `${part(`${NAMED}; filename=""\r\nContent-Type: application/octet-stream`, '')}--b--`;
    expect(read(body).get('x')).toMatchObject([{ isFile: true, isEmptyFile: true }]);
  });

  it('reads names with quotes as older clients write them', () => {
    const head = String.raw`Content-Disposition: form-data; name="a\"b"; filename="c:\d\"e.png"`;
    expect([...read(`${part(head, 'x')}--b--`).keys()]).toEqual(['a"b']);
  });

  it('reads a form without parts', () => {
    expect(read('--b--\r\n').size).toBe(0);
  });

  it.each([
    ['', /it must begin with the boundary '--b'/],
    ['{"x":1}', /it must begin with the boundary '--b'/],
    ['--b', /it ends before its first part/],
    ['--b\r\n', /it ends before its first part/],
    [`--b\r\n${NAMED}`, /it ends before its first part/],
    [`--b\r\n${NAMED}\r\n\r\nabc`, /it ends early, in or behind part 'x'/],
    [`--b\r\n${NAMED}\r\n\r\nabc\r\n--`, /it ends early, in or behind part 'x'/],
    [`--b\r\n${NAMED}\r\n\r\nabc\r\n--b`, /it ends early, in or behind part 'x'/],
    [`${part(NAMED)}--b\r\nContent-Disp`, /it ends early, in or behind part 'x'/],
    [`${part(NAMED)}--bx`, /a line end is missing after part 'x'/],
    [
      part('Content-Type: text/plain'),
      /the part behind the first boundary must have a Content-Disposition .* with a name/,
    ],
    [part('Content-Disposition: form-data'), /with a name/],
    [part('Content-Disposition: form-data; name=""'), /with a name/],
    [part('Content-Disposition: attachment; name="x"'), /with a name/],
    [part('Content-Disposition: form-data; name="x"; name="y"'), /two parameters 'name'/],
    [part(`${NAMED}\r\n${NAMED}`), /two Content-Dispositions/],
    [part(`${NAMED}\r\nContent-Transfer-Encoding: base64`), /Content-Transfer-Encoding 'base64' is not supported/],
    [part(`${NAMED}\r\nno header`), /a header .* has no name/],
    [part(`${NAMED}\r\nX: ${'y'.repeat(9000)}`), /more than 8192 bytes/],
    [`${part(NAMED).repeat(4097)}--b--`, /more than 4096 parts/],
  ])('refuses %j', (body, reason) => {
    expect(() => read(body)).toThrow(reason);
  });
});

describe('the headers of many parts', () => {
  it('are read with pauses', () => {
    const names = Array.from(
      { length: 200 },
      (_, i) => `; ${'abcdefghij'[i % 10]}${'k'.repeat(1 + Math.floor(i / 10))}=v`,
    );
    const head = `Content-Disposition: form-data; name="x"${names.join('')}`;
    const body = Buffer.from(`${part(head).repeat(500)}--b--`);
    const work = readFormData(body, bodyType('multipart/form-data; boundary=b') as FormDataType);
    let pauses = 0;
    while (work.next().done !== true) pauses++;
    // A pause for each eight kilobytes.
    expect(pauses).toBeGreaterThan(body.length / 10_000);
  });
});

describe('bodyType', () => {
  it.each([
    [undefined, 'application/json', true],
    ['application/json; charset=utf-8', 'application/json', true],
    ['application/vnd.api+JSON', 'application/vnd.api+json', true],
    ['text/plain;charset=UTF-8', 'text/plain', true],
    ['application/x-www-form-urlencoded', 'application/x-www-form-urlencoded', true],
    ['Image/JPEG', 'image/jpeg', false],
    ['application/octet-stream', 'application/octet-stream', false],
  ])('reads %j', (header, text, isJson) => {
    expect(bodyType(header)).toEqual({ text, isJson, boundary: undefined });
  });

  it.each([
    ['multipart/form-data; boundary=abc', 'abc'],
    ['Multipart/Form-Data; charset=x; Boundary="a b"; y=z', 'a b'],
  ])('finds the boundary of %j', (header, boundary) => {
    expect(bodyType(header)).toMatchObject({ isJson: false, boundary });
  });

  it('refuses form data without a boundary', () => {
    expect(() => bodyType('multipart/form-data')).toThrow(/must have a boundary, got 'multipart\/form-data'/);
  });
});
