import { describe, expect, test } from 'vitest'
import { readOwnerKey, webDescriptor } from './speaker.ts'

const { readAddress } = webDescriptor.speaker

describe('the address of a person in the chat', () => {
  test.each(['@ann@web.agents.test', 'ann@id.web.agents.test'])('may be %s', text => {
    expect(readAddress?.(text, 'agents.test')?.address.local).toBe('ann')
  })

  test.each(['@ann@agents.test', '@ann@web.agents.test.evil.example', '@ann@myweb.agents.test', 'ann'])(
    'may not be %s',
    text => {
      expect(readAddress?.(text, 'agents.test')).toBeUndefined()
    },
  )

  test('is unknown if the gateway has no domain', () => {
    expect(readAddress?.('@ann@web.agents.test', undefined)).toBeUndefined()
  })
})

const key = 'web:["https://id.test","ann"]'

test.each([key, 'web:["https://id.test", "ann"]', ' web: [ "https://id.test",\n"\\u0061nn" ] '])(
  'readOwnerKey() reads the owner of %j',
  text => {
    expect(readOwnerKey(text)).toBe(key)
  },
)

test.each([
  'web:["ann"]',
  'web:["https://id.test","ann","x"]',
  'web:["https://id.test",""]',
  'web:[1,2]',
  'web:[broken]',
  'a2a:["x","y"]',
  '',
])('readOwnerKey() finds no owner in %j', text => {
  expect(readOwnerKey(text)).toBeUndefined()
})
