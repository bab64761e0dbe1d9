import pg from 'pg'

/** The server that `npm run test:postgres` has started. */
const url = process.env.TEST_POSTGRES ?? ''

let connected: Promise<pg.Client> | undefined

async function connect(): Promise<pg.Client> {
  const client = new pg.Client(url)
  await client.connect()
  return client
}

/** Runs statements beside any desk, one after another. */
export async function askServer<Row extends pg.QueryResultRow>(
  sql: string,
  schema = 'public',
): Promise<readonly Row[]> {
  connected ??= connect()
  const client = await connected
  await client.query(`SET search_path = "${schema}"`)
  return (await client.query<Row>(sql)).rows
}

export const testServer = {
  url,
  drop: async (schema: string): Promise<void> => {
    await askServer(`DROP SCHEMA IF EXISTS "${schema}" CASCADE`)
  },
}
