import { ownerOf } from '@postern/http/tokens'
import { describe, expect, test } from 'vitest'
import { addressOf } from './caller.ts'

const issuer = 'https://id.example.org/realm'
const addressOfSubject = (value: string) => addressOf({ issuer, claim: 'sub', value })

describe('addressOf()', () => {
  test.each([
    ['a plain name', 'alice', '@alice@id.example.org'],
    ['a name with dots and digits', 'a.b-c_9', '@a.b-c_9@id.example.org'],
  ])('accepts %s', (_, sub, address) => {
    expect(addressOfSubject(sub)).toBe(address)
  })

  test.each([
    ['capitals', 'Alice', /^@alice~[0-9a-f]{12}@id\.example\.org$/],
    [
      'an address at the host of the issuer',
      'Bob@id.example.org',
      /^@bob-id-example-org~[0-9a-f]{12}@id\.example\.org$/,
    ],
    ['an address elsewhere', 'alice@evil.test', /^@alice-evil-test~[0-9a-f]{12}@id\.example\.org$/],
    ['a separator', 'auth0|5f7c', /^@auth0-5f7c~[0-9a-f]{12}@id\.example\.org$/],
    ['an at sign first', '@victim', /^@victim~[0-9a-f]{12}@id\.example\.org$/],
    ['two at signs', 'x@evil.test@id.example.org', /^@x-evil-test-id-example-org~[0-9a-f]{12}@id\.example\.org$/],
    ['nothing readable', '山', /^@caller~[0-9a-f]{12}@id\.example\.org$/],
    ['control characters', 'a\r\nb', /^@a-b~[0-9a-f]{12}@id\.example\.org$/],
    ['great length', 'x'.repeat(500), /^@x{40}~[0-9a-f]{12}@id\.example\.org$/],
  ])('makes a slug with a digest of %s', (_, sub, pattern) => {
    expect(addressOfSubject(sub)).toMatch(pattern)
  })

  test('never gives two subjects the same slug', () => {
    const slug = addressOfSubject('Alice').slice(1).split('@')[0] ?? ''
    expect(addressOfSubject(slug)).not.toBe(addressOfSubject('Alice'))
  })

  test('gives every subject its own address, also ignoring case', () => {
    const host = 'id.example.org'
    const subjects = [
      'ann',
      'Ann',
      'ANN',
      `ann@${host}`,
      `ANN@${host}`,
      `acct:ann@${host}`,
      `@ann@${host}`,
      'ann ',
      'ann\u200b',
    ]
    expect(new Set(subjects.map(subject => addressOfSubject(subject).toLowerCase())).size).toBe(subjects.length)
  })

  test('distinguishes issuers that share a host', () => {
    const at = (realm: string, value: string) =>
      addressOf({ issuer: `${issuer}/${realm}`, claim: 'sub', value }, { isHostShared: true })
    const addresses = [at('a', 'bob'), at('b', 'bob'), at('a', 'Bob'), at('b', 'Bob')]
    expect(new Set(addresses).size).toBe(4)
    for (const address of addresses) expect(address).toMatch(/^@bob~[0-9a-f]{12}@id\.example\.org$/)
  })

  test('distinguishes a client and a subject of the same name', () => {
    const client = addressOf({ issuer, claim: 'client_id', value: 'alice' })
    expect(client).toMatch(/^@alice~[0-9a-f]{12}@id\.example\.org$/)
    expect(addressOf({ issuer, claim: 'client_id', value: 'Alice' })).not.toBe(addressOfSubject('Alice'))
  })
})

describe('ownerOf()', () => {
  test('returns one key for one principal, and different keys for others', () => {
    const owners = [
      ownerOf({ issuer, claim: 'sub', value: 'a' }),
      ownerOf({ issuer, claim: 'client_id', value: 'a' }),
      ownerOf({ issuer: `${issuer}2`, claim: 'sub', value: 'a' }),
      ownerOf({ issuer, claim: 'sub', value: 'client_id a' }),
    ]
    expect(new Set(owners).size).toBe(4)
  })
})
