// Adds an index to find a conversation by the id that agents use, so that they can continue it.

export const indexThreadIds: string = `
CREATE INDEX threads_public_id ON threads (public_id) WHERE public_id IS NOT NULL;
`
