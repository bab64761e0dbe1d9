import { describe, expect, test } from 'vitest'
import { locateDidDocument } from './did-document.ts'

describe('locateDidDocument()', () => {
  test.each([
    ['did:web:slack.example', 'https://slack.example/.well-known/did.json'],
    ['did:web:slack.example:teams:T123', 'https://slack.example/teams/T123/did.json'],
    ['did:web:slack.example%3A8443', 'https://slack.example:8443/.well-known/did.json'],
    ['did:web:slack.example%3a8443:a', 'https://slack.example:8443/a/did.json'],
    ['did:web:xn--bcher-kva.example', 'https://xn--bcher-kva.example/.well-known/did.json'],
  ])('resolves %s to %s', (did, url) => {
    expect(locateDidDocument(did)).toBe(url)
  })

  test.each([
    'did:key:z6Mk',
    'did:web:',
    'did:web:localhost',
    'did:web:127.0.0.1',
    'did:web:2130706433',
    'did:web:0x7f.1',
    'did:web:[::1]',
    'did:web:%5B::1%5D',
    'did:web:Slack.example',
    'did:web:slack.example.',
    'did:web:bücher.example',
    'did:web:user@slack.example',
    'did:web:slack.example/path',
    'did:web:slack.example?x',
    'did:web:slack.example#key',
    'did:web:slack.example:',
    'did:web:slack.example:a::b',
    'did:web:slack.example:..:b',
    'did:web:slack.example:%2e%2e:b',
    'did:web:slack.example:a%2Fb',
    'did:web:slack.example%3A0',
    'did:web:slack.example%3A99999',
    'did:web:slack.example%3A8443%3A1',
    'did:web:slack.example%2F',
    'did:web:slack.example%00',
    ' did:web:slack.example',
    'DID:web:slack.example',
    `did:web:slack.example:${'a'.repeat(512)}`,
  ])('refuses %s', did => {
    expect(locateDidDocument(did)).toBeUndefined()
  })
})
