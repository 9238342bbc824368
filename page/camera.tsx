// Takes a picture with the camera, where the browser has one for this page.

import { useEffect, useRef, useState } from 'preact/hooks';

export function Camera({ onFile }: { readonly onFile: (file: File) => void }) {
  const [stream, setStream] = useState<MediaStream>();
  const [trouble, setTrouble] = useState('');
  const video = useRef<HTMLVideoElement>(null);
  useEffect(() => {
    if (video.current !== null && stream !== undefined) video.current.srcObject = stream;
    return () => stream?.getTracks().forEach((track) => track.stop());
  }, [stream]);
  // Only pages of localhost, or over https, have devices.
  if (navigator.mediaDevices === undefined) return null;

  const open = () =>
    navigator.mediaDevices.getUserMedia({ video: true }).then(
      (opened) => {
        setTrouble('');
        setStream(opened);
      },
      () => setTrouble('the browser gives no camera'),
    );
  const take = async () => {
    const { videoWidth: width, videoHeight: height } = video.current!;
    const canvas = new OffscreenCanvas(width, height);
    canvas.getContext('2d')!.drawImage(video.current!, 0, 0);
    const blob = await canvas.convertToBlob({ type: 'image/jpeg', quality: 0.92 });
    onFile(new File([blob], 'camera.jpg', { type: 'image/jpeg' }));
    setStream(undefined);
  };
  if (stream === undefined) {
    return (
      <>
        <button type="button" class="small" onClick={() => void open()}>
          Camera
        </button>
        {trouble !== '' && <span class="bad">{trouble}</span>}
      </>
    );
  }
  return (
    <div class="camera">
      <video ref={video} autoplay muted playsInline aria-label="Camera" />
      <div class="row">
        <button type="button" class="small" onClick={() => void take()}>
          Take a picture
        </button>
        <button type="button" class="small" onClick={() => setStream(undefined)}>
          Close
        </button>
      </div>
    </div>
  );
}
