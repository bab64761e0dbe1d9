// Removes the addresses from the keys of budgets and quotas.

/** Drops all counts, because their keys are digests from this number on. Little is lost, because no budget lasts longer than a day. */
export const namelessKeyStep: string = `
DELETE FROM turn_budgets;
DELETE FROM turn_quotas WHERE author <> '';
`
