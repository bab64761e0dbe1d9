import { readFileSync } from 'node:fs'
import { readWebhookKey } from '@postern/message'
import { describe, expect, test } from 'vitest'
import { signWebhook } from './write-request.ts'

interface Vector {
  readonly secret: string
  readonly message_id: string
  /** The time of the signature, seconds. */
  readonly timestamp: number
  readonly payload: string
  readonly signature: string
}

const fixture = new URL('../../../../fixtures/webhook/signatures.json', import.meta.url)
const vectors = JSON.parse(readFileSync(fixture, 'utf8')) as readonly Vector[]

describe('signWebhook()', () => {
  test.each(vectors)('signs $message_id as the reference libraries do', vector => {
    const signed = { id: vector.message_id, now: vector.timestamp * 1_000, body: vector.payload }
    expect(signWebhook(signed, readWebhookKey(vector.secret))).toEqual({
      'webhook-id': vector.message_id,
      'webhook-timestamp': `${vector.timestamp}`,
      'webhook-signature': vector.signature,
    })
  })

  test('signs the UTF-8 bytes of the text, not its code units', () => {
    const key = readWebhookKey('shared')
    const signature = (body: string) => signWebhook({ id: 'i', now: 0, body }, key)['webhook-signature']
    expect(signature('ü')).not.toBe(signature('u'))
    expect(signature('ü')).toMatch(/^v1,[A-Za-z0-9+/]{43}=$/)
  })
})
