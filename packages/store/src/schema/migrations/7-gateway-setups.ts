// Adds the setup that the data belongs to, and the setup of each gateway run.

/**
 * Adds `setup`, the JSON of a `RunSetup`. It is NULL for runs before this version. A store without a row in `store_setup` gets the setup of its next
 * gateway.
 */
export const addGatewaySetups: string = `
ALTER TABLE gateway_runs ADD COLUMN setup TEXT;

-- 'mode' and 'origin' of the gateway whose data this is.
CREATE TABLE store_setup (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
`
