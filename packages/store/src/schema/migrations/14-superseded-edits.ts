// Adds a column for the messages that an edit replaces, because a message may have had thousands of edits.

/**
 * Separates the messages that have lost their content to a later edit from the others of their author and object. The index contains a column of its own
 * instead of an expression over the content, because PostgreSQL writes new entries to all indexes of a row when a column of one of them changes.
 */
export const separateSupersededEdits: string = `
ALTER TABLE messages ADD COLUMN is_superseded INTEGER NOT NULL DEFAULT 0;
UPDATE messages SET is_superseded = 1
  WHERE principal IS NOT NULL AND forgotten_at IS NULL AND kind = 'message' AND content = '[]' AND edited_at IS NOT NULL;
DROP INDEX messages_principal;
CREATE INDEX messages_principal ON messages (principal, object, channel, is_superseded) WHERE principal IS NOT NULL AND forgotten_at IS NULL;
`
