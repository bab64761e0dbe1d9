// Deletes the rows of budgets and quotas whose keys contain addresses.

/** Deletes the counts of people, because their keys are digests from this version on. A budget lasts for a day at most, so little is lost. */
export const deleteCountsByAddress: string = `
DELETE FROM turn_budgets;
DELETE FROM turn_quotas WHERE author <> '';
`
