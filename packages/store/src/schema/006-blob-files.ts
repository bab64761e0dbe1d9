/** Large bytes lie in files beside the database; their rows hold none. */
export const blobFileSchema = `
ALTER TABLE blobs ADD COLUMN is_file INTEGER NOT NULL DEFAULT 0;
`
