// Adds an index that finds a conversation by the id that agents use.

export const indexThreadIds: string = `
CREATE INDEX threads_public_id ON threads (public_id) WHERE public_id IS NOT NULL;
`
