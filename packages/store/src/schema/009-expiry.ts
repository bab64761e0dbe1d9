/** Tasks in which nothing happens any more, oldest first. */
export const expirySchema = `
CREATE INDEX tasks_oldest ON tasks (updated_at) WHERE state NOT IN ('submitted', 'working');
`
