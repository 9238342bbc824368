import { describe, expect, it } from 'vitest';

import { VersionHook } from './version-hook.js';

const ROOT = 'file:///package/';

function hooked(): { readonly hook: VersionHook; readonly loaded: string[] } {
  const loaded: string[] = [];
  return { hook: new VersionHook(ROOT, (url) => loaded.push(url)), loaded };
}

const at = (hook: VersionHook, url: string, parentURL?: string) => hook.versioned({ url }, { parentURL }).url;

describe('imports of a version', () => {
  it('carry the number of the module that imports them', () => {
    const { hook, loaded } = hooked();
    expect(at(hook, 'file:///app/model.ts?tstriton=3')).toBe('file:///app/model.ts?tstriton=3');
    expect(at(hook, 'file:///app/model.ts?tstriton=4')).toBe('file:///app/model.ts?tstriton=4');
    // A late import of the version before.
    expect(at(hook, 'file:///app/lib.js', 'file:///app/model.ts?tstriton=3')).toBe('file:///app/lib.js?tstriton=3');
    expect(at(hook, 'file:///app/lib.js?a=1', 'file:///app/model.ts?tstriton=4')).toBe(
      'file:///app/lib.js?a=1&tstriton=4',
    );
    expect(loaded).toEqual([
      'file:///app/model.ts?tstriton=3',
      'file:///app/model.ts?tstriton=4',
      'file:///app/lib.js',
      'file:///app/lib.js?a=1',
    ]);
  });

  it('carry the number that tsx has added to what the hook decided before', () => {
    const { hook } = hooked();
    at(hook, 'file:///app/model.ts?tstriton=1');
    // tsx asks for the URL without its query, and adds it to the answer.
    expect(at(hook, 'file:///app/model.ts')).toBe('file:///app/model.ts?tstriton=1');
    const parent = 'file:///app/model.ts?tstriton=1&tstriton=2';
    expect(at(hook, 'file:///app/lib.ts', parent)).toBe('file:///app/lib.ts?tstriton=2');
    expect(at(hook, 'file:///app/deeper.ts', 'file:///app/lib.ts?tstriton=2&tstriton=2')).toBe(
      'file:///app/deeper.ts?tstriton=2',
    );
    expect(at(hook, 'file:///app/late.ts', 'file:///x/node_modules/tsx/a.js')).toBe('file:///app/late.ts?tstriton=2');
  });

  it('carry the latest where a helper imports them', () => {
    const { hook } = hooked();
    expect(at(hook, 'file:///app/lib.js', 'file:///x/node_modules/jiti/a.js')).toBe('file:///app/lib.js');
    at(hook, 'file:///app/model.ts?tstriton=7');
    expect(at(hook, 'file:///app/lib.js', 'file:///x/node_modules/jiti/a.js')).toBe('file:///app/lib.js?tstriton=7');
  });

  it.each(['node:fs', 'data:text/javascript,', 'file:///app/node_modules/a/index.js', `${ROOT}dist/index.js`])(
    'of what is loaded once stay as they are: %s',
    (url) => {
      const { hook, loaded } = hooked();
      at(hook, 'file:///app/model.ts?tstriton=7');
      expect(at(hook, url, 'file:///app/model.ts?tstriton=7')).toBe(url);
      expect(loaded).toHaveLength(1);
    },
  );
});
