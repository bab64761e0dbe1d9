// Removes the addresses from the keys of budgets and quotas.

/** Deletes all counts, because their keys are digests from this version on. No budget lasts longer than a day, so little is lost. */
export const deleteNamedKeys: string = `
DELETE FROM turn_budgets;
DELETE FROM turn_quotas WHERE author <> '';
`
