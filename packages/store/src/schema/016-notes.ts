/** What agents note of their turns. */
export const noteSchema = `
-- Entries of the scope 'trace': answers is the message whose turn noted it, native_id its name there, content a line of the transcript.
CREATE INDEX entries_trace ON entries (thread_id, answers, seq) WHERE scope = 'trace';
`
