// Adds the name of the storage that has the bytes of a file, so that files in a former storage do not count as deleted.

/** Adds the storage of an object's bytes. It is NULL if the bytes are in the database, or if an earlier release stored them. */
export const addObjectStorages: string = `
ALTER TABLE objects ADD COLUMN storage TEXT;
`
