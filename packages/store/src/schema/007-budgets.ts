/** Turns that many messages share by a key: who is answered how often, whatever the thread. */
export const budgetSchema = `
-- until: began_at and the length of its time; whoever is past it begins anew.
CREATE TABLE turn_budgets (key TEXT PRIMARY KEY, until INTEGER NOT NULL, used INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE INDEX turn_budgets_oldest ON turn_budgets (until);
`
