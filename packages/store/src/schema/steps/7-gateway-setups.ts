// Stores to which setup the data belong, and the setup of each gateway run.

/**
 * Adds `setup`, the JSON of a `RunSetup`. NULL: the run is older than this number. A store without a row in `store_setup` gets the setup of its next
 * gateway.
 */
export const gatewaySetupStep: string = `
ALTER TABLE gateway_runs ADD COLUMN setup TEXT;

-- 'mode' and 'origin' of the gateway whose data this is.
CREATE TABLE store_setup (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
`
