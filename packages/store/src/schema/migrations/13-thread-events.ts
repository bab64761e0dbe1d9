// Indexes the messages of a thread that are no conversation, because a thread is deleted only when none of them is left.

/** Adds an index of the messages that agents hear of but do not recall, and of those that have no turn. */
export const addThreadEvents: string = `
CREATE INDEX messages_events ON messages (thread_id) WHERE scope IN ('event', 'kept');
`
