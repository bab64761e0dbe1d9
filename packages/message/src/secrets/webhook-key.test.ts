import { expect, test } from 'vitest'
import { readWebhookKey } from './webhook-key.ts'

test('a webhook key is base64 after its prefix, with or without padding, and plain text otherwise', () => {
  expect(Buffer.from(readWebhookKey('whsec_a2V5MQ=='))).toEqual(Buffer.from('key1'))
  expect(Buffer.from(readWebhookKey('whsec_a2V5MQ'))).toEqual(Buffer.from('key1'))
  expect(Buffer.from(readWebhookKey('a2V5MQ=='))).toEqual(Buffer.from('a2V5MQ=='))
  expect(Buffer.from(readWebhookKey(' some words '))).toEqual(Buffer.from(' some words '))
})

test.each(['', ' ', '\t\n', 'whsec_', 'whsec_=', 'whsec_***', 'whsec_a2V5MQ= =', 'whsec_a'])(
  'a webhook key is empty for %j',
  secret => {
    expect(readWebhookKey(secret)).toHaveLength(0)
  },
)
