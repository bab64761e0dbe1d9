// Adds the setup to which the data belong, and the setup of each gateway run.

/**
 * Adds `setup`, the JSON of a `RunSetup`. It is NULL for runs before this version. A store without a row in `store_setup` gets the setup of its next
 * gateway.
 */
export const addGatewaySetups: string = `
ALTER TABLE gateway_runs ADD COLUMN setup TEXT;

-- The 'mode' and 'origin' of the gateway to which the data belong.
CREATE TABLE store_setup (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
`
