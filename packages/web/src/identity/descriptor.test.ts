import { describe, expect, test } from 'vitest'
import { webDescriptor } from './descriptor.ts'

const { readAddress } = webDescriptor.speaker

describe('a person in the chat', () => {
  test.each(['@ann@web.agents.test', 'ann@id.web.agents.test'])('has the name %s', text => {
    expect(readAddress?.(text, 'agents.test')?.address.local).toBe('ann')
  })

  test.each(['@ann@agents.test', '@ann@web.agents.test.evil.example', '@ann@myweb.agents.test', 'ann'])(
    'does not have the name %s',
    text => {
      expect(readAddress?.(text, 'agents.test')).toBeUndefined()
    },
  )

  test('has no name if the domain is unknown', () => {
    expect(readAddress?.('@ann@web.agents.test', undefined)).toBeUndefined()
  })
})
