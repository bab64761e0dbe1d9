// Adds an index of the messages outside the history of a thread, because a thread with such messages is not deleted.

/** Adds an index of the events of a thread, and of its messages without a turn. */
export const addThreadEvents: string = `
CREATE INDEX messages_events ON messages (thread_id) WHERE scope IN ('event', 'kept');
`
