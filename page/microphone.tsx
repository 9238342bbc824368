// Records sound, where the browser has a microphone for this page.

import { useEffect, useRef, useState } from 'preact/hooks';

export function Microphone({ onFile }: { readonly onFile: (file: File) => void }) {
  const [recorder, setRecorder] = useState<MediaRecorder>();
  const [trouble, setTrouble] = useState('');
  const running = useRef<MediaRecorder>(undefined);
  useEffect(() => () => stop(running.current), []);
  if (navigator.mediaDevices === undefined || typeof MediaRecorder === 'undefined') return null;

  const record = async () => {
    try {
      const made = new MediaRecorder(await navigator.mediaDevices.getUserMedia({ audio: true }));
      const parts: Blob[] = [];
      made.addEventListener('dataavailable', ({ data }) => parts.push(data));
      made.addEventListener('stop', () => {
        const type = made.mimeType.split(';')[0]!;
        onFile(new File(parts, `recording.${type.split('/')[1]}`, { type }));
        setRecorder(undefined);
      });
      made.start();
      running.current = made;
      setTrouble('');
      setRecorder(made);
    } catch {
      setTrouble('the browser gives no microphone');
    }
  };
  return (
    <>
      <button
        type="button"
        class={recorder === undefined ? 'small' : 'small stop'}
        onClick={() => (recorder === undefined ? void record() : stop(recorder))}
      >
        {recorder === undefined ? 'Microphone' : 'Stop recording'}
      </button>
      {trouble !== '' && <span class="bad">{trouble}</span>}
    </>
  );
}

function stop(recorder: MediaRecorder | undefined): void {
  if (recorder?.state === 'recording') recorder.stop();
  recorder?.stream.getTracks().forEach((track) => track.stop());
}
