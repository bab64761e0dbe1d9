/** A file somebody has put there, by bucket and path. */
export interface StoredObject {
  readonly bucket: string
  /** Segments joined by `/`, decoded. */
  readonly path: string
  /** Whose it is. */
  readonly owner: string
  readonly mime: string
  readonly size: number
  /** SHA-256, lower-case hex. */
  readonly digest: string
  /** ms */
  readonly createdAt: number
}

/** What a row costs beside its bytes: many small objects are a large one. */
export const leastObjectBytes = 16 * 1024

type NewObject = Pick<StoredObject, 'bucket' | 'path' | 'owner' | 'mime'> & { readonly bytes: Uint8Array }

/** Files of people, each with one owner. What is put under a path stays what it is. */
export interface ObjectStore {
  /**
   * Durable when it resolves. @throws Rejection forbidden when the path is taken, too_large when its owner would have more than `most` bytes
   * (each object counts for `leastObjectBytes` at least); Unavailable
   */
  putObject(object: NewObject, most?: number): Promise<StoredObject>
  findObject(bucket: string, path: string): Promise<StoredObject | undefined>
  /** One of an owner's that has these bytes: of several the one whose path ends with this name, else the newest. */
  findObjectByDigest(owner: string, digest: string, name?: string): Promise<StoredObject | undefined>
  /** @throws Unavailable */
  readObject(object: Pick<StoredObject, 'bucket' | 'path'>): Promise<Uint8Array | undefined>
  /** One of its owner's; false when there is none. */
  removeObject(owner: string, object: Pick<StoredObject, 'bucket' | 'path'>): Promise<boolean>
  /** All that is somebody's; how many there were. */
  removeObjects(owner: string): Promise<number>
}

/** Where the bytes of objects are kept when that is not the store's own file. */
export interface ByteStore {
  write(key: string, bytes: Uint8Array, mime: string): Promise<void>
  read(key: string): Promise<Uint8Array | undefined>
  remove(key: string): Promise<void>
}
