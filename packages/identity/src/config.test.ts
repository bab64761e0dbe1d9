import { describe, expect, test } from 'vitest'
import { identityConfigSchema } from './config.ts'

const entry = { issuer: 'slack.example', methods: ['urn:m'], assurance: ['platform'], subject_prefixes: ['slack:'] }
const problemOf = (config: unknown) => identityConfigSchema.safeParse(config).error?.issues[0]?.message

describe('identityConfigSchema', () => {
  test('trusts no issuer and knows no connector by default', () => {
    expect(identityConfigSchema.parse({})).toEqual({ trusted_issuers: [], connectors: [] })
  })

  test.each(['slack.example', 'did:web:slack.example', 'did:web:slack.example:a'])(
    'accepts %s as trusted (MN-6.1, MN-6.2)',
    issuer => {
      expect(problemOf({ trusted_issuers: [{ ...entry, issuer }] })).toBeUndefined()
    },
  )

  test.each(['https://slack.example', 'Slack.example', 'slack', 'did:key:z6Mk', 'did:web:127.0.0.1', '*', ''])(
    'refuses %s as trusted',
    issuer => {
      expect(problemOf({ trusted_issuers: [{ ...entry, issuer }] })).toContain('must be a bare host in lower case')
    },
  )

  test.each(['methods', 'assurance', 'subject_prefixes'])('requires that %s names what it admits', member => {
    expect(problemOf({ trusted_issuers: [{ ...entry, [member]: [] }] })).toContain('Too small')
    expect(problemOf({ trusted_issuers: [{ ...entry, [member]: [''] }] })).toContain('Too small')
  })
})
