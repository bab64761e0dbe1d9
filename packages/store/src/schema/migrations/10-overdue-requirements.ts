// Extends the index of overdue requirements from operators to all deciders.

export const addOverdueRequirements: string = `
DROP INDEX requirements_overdue;
CREATE INDEX requirements_overdue ON requirements (expires_at) WHERE status = 'open';
`
