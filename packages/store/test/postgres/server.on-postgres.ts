import { execFileSync } from 'node:child_process'
import { chmodSync, chownSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { ConfigError, Unavailable } from '@postern/message'
import { sketchedChannels } from '@postern/testing'
import type { Cluster } from '@postern/testing/postgres-cluster'
import { createCluster, password } from '@postern/testing/postgres-cluster'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openPostgresStore } from '../../src/postgres/index.ts'
import { discardLog } from '../open-test-store.ts'
import { makeDatabase, schemaOf } from './open-postgres-test-store.ts'
import { askServer, testServer } from './test-server.ts'

const open = (url: string) => openPostgresStore({ channels: sketchedChannels, url, now: Date.now, log: discardLog })

/** Returns the error that an operator gets. */
async function refusalOf(url: string): Promise<string> {
  const error = await open(url).then(
    store => store.close(),
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(ConfigError)
  expect(String(error)).not.toContain(password)
  expect(String(error)).not.toContain(encodeURIComponent(password))
  return (error as ConfigError).message
}

function withUrl(change: (url: URL) => void): string {
  const url = new URL(testServer.url)
  change(url)
  return url.href
}

const here = new URL(testServer.url).host

describe('openPostgresStore() explains what is wrong with', () => {
  test.each([
    [
      'a server that is not there',
      withUrl(url => (url.port = '1')),
      'store: cannot use the database "postgres" at 127.0.0.1:1 (connect ECONNREFUSED 127.0.0.1:1). Check that the server runs and can be reached from here.',
    ],
    [
      'a password',
      withUrl(url => (url.password = 'wrong')),
      `store: the server of "postgres" at ${here} does not let us in. Check user and password of the URL, and pg_hba.conf.`,
    ],
    [
      'a database that nobody has made',
      withUrl(url => (url.pathname = '/nowhere')),
      `store: there is no database "nowhere" at ${here}. Make it: CREATE DATABASE … ENCODING UTF8.`,
    ],
    [
      'a parameter',
      withUrl(url => (url.search = '?pool=9')),
      'store: has the parameter "pool". Known are host, port, user, schema, sslmode, sslrootcert, sslcert, sslkey.',
    ],
    [
      'a mode of TLS',
      withUrl(url => (url.search = '?sslmode=prefer')),
      'store: has an unknown sslmode "prefer". Use disable, require, verify-ca, verify-full.',
    ],
    [
      'a schema',
      withUrl(url => (url.search = '?schema="; DROP')),
      'store: has no usable "schema". Use a-z, 0-9 and _.',
    ],
  ])('%s', async (_, url, told) => {
    expect(await refusalOf(url)).toBe(told)
  })

  test('a password that makes the URL invalid, without showing it', async () => {
    expect(await refusalOf('postgres://me:se/cret@host:port/database')).toMatch(/^store: (is no URL|names no host)/)
  })

  test('a database with another encoding', async () => {
    await askServer("CREATE DATABASE latin ENCODING LATIN1 LOCALE 'C' TEMPLATE template0")
    expect(await refusalOf(withUrl(url => (url.pathname = '/latin')))).toBe(
      'store: the database is kept as LATIN1. Make one with ENCODING UTF8 TEMPLATE template0.',
    )
  })

  test('a user without rights', async () => {
    await askServer('CREATE DATABASE locked')
    await askServer("CREATE ROLE guest LOGIN PASSWORD 'guest'")
    const url = withUrl(at => {
      at.pathname = '/locked'
      at.username = 'guest'
      at.password = 'guest'
    })
    expect(await refusalOf(url)).toMatch(/^store: the user has no rights in "locked" at .* GRANT CREATE/)
  })

  test('tables of another program', async () => {
    const url = makeDatabase()
    await askServer(`CREATE SCHEMA ${schemaOf(url)}; CREATE TABLE ${schemaOf(url)}.entries (id int)`)
    expect(await refusalOf(url)).toBe(
      `store: the schema "${schemaOf(url)}" holds tables that are not ours. Name another with ?schema=….`,
    )
  })

  test('a database of a newer release', async () => {
    const url = makeDatabase()
    await (await open(url)).close()
    await askServer('UPDATE store_version SET version = version + 1', schemaOf(url))
    expect(await refusalOf(url)).toMatch(
      /^store: .* was written by a newer release \(its tables have .*\)\. Start that release or a later one\.$/,
    )
  })
})

test('gateways that start together create the tables once', async () => {
  const url = makeDatabase()
  const stores = await Promise.all([open(url), open(url), open(url)])
  expect(await Promise.all(stores.map(store => store.readOrCreateSecret('key', async () => 'made')))).toEqual([
    'made',
    'made',
    'made',
  ])
  await Promise.all(stores.map(store => store.close()))
})

test('a rotation of secrets takes effect at once in every gateway of the database', async () => {
  const url = makeDatabase()
  const [one, two] = [await open(url), await open(url)]
  const [here, there] = [await one.openSecret('attachments'), await two.openSecret('attachments')]
  expect(there.list()).toEqual(here.list())
  const [before = ''] = here.list()
  await one.rotateSecrets({ isRevoking: true })
  expect(here.list()).not.toContain(before)
  await expect.poll(() => there.list(), { timeout: 2_000 }).toEqual(here.list())
  await Promise.all([one.close(), two.close()])
})

test('a gateway stops writing when a newer release changes the tables, and says why once', async () => {
  const url = makeDatabase()
  const told: string[] = []
  const onUnusable = (error: ConfigError) => told.push(error.message)
  const store = await openPostgresStore({ channels: sketchedChannels, url, now: Date.now, log: discardLog, onUnusable })
  await store.readOrCreateSecret('before', async () => 'kept')
  await askServer('UPDATE store_version SET version = version + 1', schemaOf(url))
  const refused = new Unavailable('Cannot store: this gateway is about to be replaced', { retryAfter: 5 })
  await expect(store.readOrCreateSecret('after', async () => 'lost')).rejects.toThrow(refused)
  await expect(store.checkWork()).rejects.toThrow(refused)
  expect(told).toEqual([
    'store: a newer release has changed the tables of the database while this one ran. Start that release here, too.',
  ])
  const names = await askServer("SELECT name FROM secrets WHERE name IN ('before', 'after')", schemaOf(url))
  expect(names).toEqual([{ name: 'before' }])
  await store.close()
})

describe('a PostgreSQL connection', () => {
  let cluster: Cluster
  let certificate: string
  beforeAll(async () => {
    const programs = process.env.TEST_POSTGRES_PROGRAMS ?? ''
    cluster = await createCluster({
      programs,
      settings: ['fsync=off', 'ssl=on', 'ssl_cert_file=../crt', 'ssl_key_file=../key'],
    })
    certificate = join(cluster.directory, 'crt')
    const names = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1']
    const files = ['-keyout', join(cluster.directory, 'key'), '-out', certificate]
    execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', ...names, ...files], {
      stdio: 'pipe',
    })
    const { uid, gid } = statSync(cluster.directory)
    for (const file of [join(cluster.directory, 'key'), certificate]) {
      chmodSync(file, 0o600)
      chownSync(file, uid, gid)
    }
    expect(readFileSync(certificate, 'utf8')).toContain('BEGIN CERTIFICATE')
    await cluster.start()
  })
  afterAll(() => cluster.remove())

  test.each(['require', 'verify-ca&sslrootcert=$', 'verify-full&sslrootcert=$'])(
    'uses TLS with sslmode=%s',
    async mode => {
      const store = await open(`${cluster.url}?sslmode=${mode.replace('$', certificate)}`)
      expect(await store.hasSecret('none')).toBe(false)
      await store.close()
    },
  )

  test('refuses a server with a self-signed certificate under sslmode=verify-full', async () => {
    expect(await refusalOf(`${cluster.url}?sslmode=verify-full`)).toContain('self-signed certificate')
  })

  test('may use a socket', async () => {
    const user = `user=postern&host=${cluster.directory}&port=${cluster.port}`
    const told = await refusalOf(`postgres:///nowhere?${user}`)
    expect(told).toMatch(/does not let us in|cannot use the database "nowhere"/)
  })

  test('fails callers at once when the server has gone, and the store still closes', async () => {
    const store = await open(`${cluster.url}?schema=left`)
    await cluster.stop('immediate')
    await expect(store.hasSecret('none')).rejects.toThrow(
      new Unavailable('Cannot store: the database does not answer now', { retryAfter: 5 }),
    )
    await expect(store.readOrCreateSecret('key', async () => 'made')).rejects.toThrow(Unavailable)
    await store.close()
    await expect(store.hasSecret('none')).rejects.toThrow('closed')
  })
})

test('a process with an idle store ends without closing it, and one that closes it ends at once', async () => {
  const program = (end: string) => `
    import { openPostgresStore } from '${new URL('../../src/postgres/index.ts', import.meta.url).href}'
    const log = { debug() {}, info() {}, warn() {}, error() {} }
    const store = await openPostgresStore({ channels: [], url: process.env.STORE_URL, now: Date.now, log, holder: 'one' })
    console.log(await store.findNextDueAt())
    const begun = performance.now()
    process.on('exit', () => console.log(performance.now() - begun < 10_000 ? 'at once' : 'late'))
    ${end}`
  for (const end of ['', 'await store.close()']) {
    const env = { ...process.env, STORE_URL: makeDatabase() }
    const args = ['--input-type=module', '--eval', program(end)]
    expect(execFileSync(process.execPath, args, { env, timeout: 120_000 }).toString()).toBe('undefined\nat once\n')
  }
})
