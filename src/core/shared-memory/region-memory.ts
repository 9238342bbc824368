// The memory of a registered region. Whoever opens one has checked that the object is large enough; the memory stays
// as it was registered until it is closed, whatever happens to the object's name.

/** A part of a shared memory object. */
export interface RegionMemory {
  /** The bytes as they are now: a copy, or a view that later writes of the client show through. */
  read(offset: number, length: number): Uint8Array;
  /** The bytes as they are now, for nobody else to write to. */
  copy(offset: number, length: number): Uint8Array;
  /** Writes through to the object, and nowhere else than into these bytes. */
  write(offset: number, bytes: Uint8Array): void;
  /** Nothing is read or written any more. Views that were given out stay valid. */
  close(): void;
}

/** An object that was opened but is not used yet. */
export interface OpenedObject {
  readonly descriptor: number;
  readonly size: number;
}

/** Makes the memory of a part of an object. Takes ownership of the descriptor. */
export type MapRegion = (object: OpenedObject, offset: number, byteSize: number) => RegionMemory;
