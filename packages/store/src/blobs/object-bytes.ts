// Locates and removes the bytes of files in a storage outside the database, which may be a former storage.
import type { ByteStore, StoredObject } from '@postern/message'

/** A file with the location of its bytes. */
export interface LocatedObject extends Pick<StoredObject, 'bucket' | 'path'> {
  /** The name of the storage outside the database. Null if the bytes are in the database, or if an earlier release stored no name. */
  readonly storage: string | null
  /** 1 if the bytes are outside the database. */
  readonly is_elsewhere: number
}

/** The columns of a `LocatedObject`. */
export const locationColumns = 'bucket, path, storage, bytes IS NULL AS is_elsewhere'

/** Removes the bytes of a file from the storage outside the database. Returns false if the bytes are in a storage that the gateway no longer uses. */
export type RemoveBytes = (object: LocatedObject) => Promise<boolean>

export function createByteRemoval(byteStore: ByteStore | undefined): RemoveBytes {
  return async object => {
    if (object.is_elsewhere === 0) return true
    if (!byteStore) return false
    const key = formatObjectKey(object)
    // A storage reports no error if it deletes a missing file. So a storage with another name must first prove that it has the file.
    if (object.storage !== byteStore.name && (await byteStore.read(key)) === undefined) return false
    await byteStore.remove(key)
    return true
  }
}

/** Formats the key of a file in a storage outside the database. */
export function formatObjectKey({ bucket, path }: Pick<StoredObject, 'bucket' | 'path'>): string {
  return `${bucket}/${path}`
}
