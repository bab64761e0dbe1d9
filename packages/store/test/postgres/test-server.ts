// Runs statements on the PostgreSQL server of the tests.
import pg from 'pg'

/** The server that `npm run test:postgres` has started. */
const url = process.env.TEST_POSTGRES ?? ''

let connected: Promise<pg.Client> | undefined

async function connect(): Promise<pg.Client> {
  const client = new pg.Client(url)
  await client.connect()
  return client
}

/** Runs statements one after another, independently of any store. */
export async function askServer<Row extends pg.QueryResultRow>(
  sql: string,
  schema = 'public',
  values?: readonly (string | Buffer | null)[],
): Promise<readonly Row[]> {
  const client = await enter(schema)
  return (await client.query<Row>(sql, values && [...values])).rows
}

async function enter(schema: string): Promise<pg.Client> {
  connected ??= connect()
  const client = await connected
  await client.query(`SET search_path = "${schema}"`)
  return client
}

export const testServer = {
  url,
  drop: async (schema: string): Promise<void> => {
    await askServer(`DROP SCHEMA IF EXISTS "${schema}" CASCADE`)
  },
}
