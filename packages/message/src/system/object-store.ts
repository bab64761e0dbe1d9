// Declares the storage of files by bucket and path.

/** A stored file, named by its bucket and path. */
export interface StoredObject {
  readonly bucket: string
  /** The decoded segments of the path, joined by `/`. */
  readonly path: string
  /** The person who owns it. */
  readonly owner: string
  readonly mime: string
  readonly size: number
  /** The SHA-256 of the bytes, in lower-case hex. */
  readonly digest: string
  /** The time of its creation, in ms. */
  readonly createdAt: number
}

/** The least bytes that an object counts, because its row has a cost and many small objects amount to a large one. */
export const minObjectBytes = 16 * 1024

type NewObject = Pick<StoredObject, 'bucket' | 'path' | 'owner' | 'mime'> & { readonly bytes: Uint8Array }

/** The storage of people's files, each with one owner. An object under a path never changes. */
export interface ObjectStore {
  /**
   * Stores an object and resolves once it is durable. @throws Rejection forbidden if the path exists already, too_large if its owner would have more
   * than `maxBytes` bytes (each object counts at least `minObjectBytes`); Unavailable
   */
  putObject(object: NewObject, maxBytes?: number): Promise<StoredObject>
  findObject(bucket: string, path: string): Promise<StoredObject | undefined>
  /** Finds an object of an owner with these bytes. Of several it prefers the one whose path ends with this name, otherwise the newest. */
  findObjectByDigest(owner: string, digest: string, name?: string): Promise<StoredObject | undefined>
  /** Reads the bytes of an object; undefined if it does not exist. @throws Unavailable */
  readObject(object: Pick<StoredObject, 'bucket' | 'path'>): Promise<Uint8Array | undefined>
  /** Deletes an owner's object. Returns false if there is none. @throws Unavailable, also if its bytes are in a storage that is no longer used */
  removeObject(owner: string, object: Pick<StoredObject, 'bucket' | 'path'>): Promise<boolean>
  /**
   * Deletes all objects of an owner. A file in a storage that is no longer used stays on record, so that it can be deleted there; with `leavesBytes`
   * only its record is deleted. @throws Unavailable
   */
  removeObjects(owner: string, options?: { readonly leavesBytes?: boolean | undefined }): Promise<RemovedObjects>
  /**
   * Checks the newest files of each storage outside the database, and lists the storages of which some files are missing in the current storage.
   * @throws Unavailable
   */
  findAbsentObjects(): Promise<readonly AbsentObjects[]>
}

/** The files of one storage that the gateway can no longer read. */
export interface AbsentObjects {
  /** Absent for files of a release that did not name their storage. */
  readonly storage?: string | undefined
  /** The number of the newest files that the database has on record there. */
  readonly files: number
  readonly checked: number
  /** The number of the checked files that are missing. */
  readonly absent: number
}

/** A file whose bytes are in a storage that the gateway no longer uses. */
export interface UnreachableObject extends Pick<StoredObject, 'owner' | 'bucket' | 'path'> {
  /** Absent for a file of a release that did not name its storage. */
  readonly storage?: string | undefined
}

export interface RemovedObjects {
  readonly removed: number
  /** The files that could not be deleted. */
  readonly unreachable: readonly UnreachableObject[]
}

/** The storage for bytes of objects that is not the store's own file. */
export interface ByteStore {
  /** The name that distinguishes the storage from others: its kind, address and bucket. */
  readonly name: string
  write(key: string, bytes: Uint8Array, mime: string): Promise<void>
  read(key: string): Promise<Uint8Array | undefined>
  remove(key: string): Promise<void>
}
