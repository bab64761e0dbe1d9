// Stores the storage in which the bytes of a file are, so that a file of an earlier storage does not count as deleted.

/** Adds the storage of an object's bytes. NULL: they are in the database, or a release that did not name the storage wrote them. */
export const addObjectStorages: string = `
ALTER TABLE objects ADD COLUMN storage TEXT;
`
