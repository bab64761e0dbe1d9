// Adds the rows that an edit replaces to the index of authors, because a message may have had thousands of edits.

/** Separates the messages that have lost their content to a later edit from the others of their author and object. */
export const separateSupersededEdits: string = `
DROP INDEX messages_principal;
CREATE INDEX messages_principal ON messages (principal, object, channel, (CASE WHEN content = '[]' AND edited_at IS NOT NULL THEN 1 ELSE 0 END))
  WHERE principal IS NOT NULL AND forgotten_at IS NULL;
`
