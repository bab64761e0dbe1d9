import { ConfigError } from '@postern/message'
import { expect, test } from 'vitest'
import { toClientConfig } from './address.ts'
import { isPostgresUrl, readPostgresUrl } from './settings.ts'

test('readPostgresUrl() reads the server, the user and the schema', () => {
  expect(readPostgresUrl('postgres://me:p%40ss@db.example:6432/house?schema=ours')).toMatchObject({
    schema: 'ours',
    location: '"house" at db.example:6432',
    server: {
      host: 'db.example',
      port: 6432,
      user: 'me',
      password: 'p@ss',
      database: 'house',
      tls: { mode: 'disable' },
    },
  })
})

test('readPostgresUrl() reads a socket', () => {
  expect(readPostgresUrl('postgresql:///house?host=/run/postgresql&user=me').server).toMatchObject({
    host: '/run/postgresql',
    port: 5432,
    user: 'me',
    database: 'house',
  })
})

test('readPostgresUrl() treats sslmode like libpq: require encrypts, verify-full authenticates', () => {
  const tlsOf = (query: string) => toClientConfig(readPostgresUrl(`postgres://me@db.example/house${query}`).server).ssl
  expect(tlsOf('?sslmode=require')).toEqual({ rejectUnauthorized: false })
  expect(tlsOf('?sslmode=verify-full')).toEqual({})
  expect(tlsOf('?sslmode=verify-ca')).toHaveProperty('checkServerIdentity')
})

test.each([
  [
    'postgres://me:p@ss@@:x/y',
    'store: is no URL. Use postgres://user:password@host:5432/database, or postgres:///database?host=/folder/of/the/socket. Write what is special in a password as %XX.',
  ],
  [
    'postgres://db.example',
    'store: names no host or no database. Use postgres://user:password@host:5432/database, or postgres:///database?host=/folder/of/the/socket.',
  ],
  [
    'postgres://db.example/house?sslmode=verify-ca&sslrootcert=/nowhere',
    'store: cannot read "/nowhere" (sslrootcert). Name a PEM file.',
  ],
  [
    'postgres://db.example/house?constructor=1',
    'store: has the parameter "constructor". Known are host, port, user, schema, sslmode, sslrootcert, sslcert, sslkey.',
  ],
])('readPostgresUrl(%j) explains the error', (url, told) => {
  expect(() => readPostgresUrl(url)).toThrow(ConfigError)
  expect(() => readPostgresUrl(url)).toThrow(told)
})

test('isPostgresUrl() accepts both spellings of the scheme', () => {
  expect(['postgres://h/d', 'postgresql://h/d', 'sqlite', 'mysql://h/d'].map(isPostgresUrl)).toEqual([
    true,
    true,
    false,
    false,
  ])
})
