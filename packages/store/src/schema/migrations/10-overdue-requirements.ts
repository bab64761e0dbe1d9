// Extends the index of overdue requirements to those of all deciders. Before, it covered only operators.

export const addOverdueRequirements: string = `
DROP INDEX requirements_overdue;
CREATE INDEX requirements_overdue ON requirements (expires_at) WHERE status = 'open';
`
