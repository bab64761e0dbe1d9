import { expect, test } from 'vitest'
import { message } from '../../test/messages.ts'
import { mergeMessages } from './merge-messages.ts'

test('mergeMessages() adds the parts and authors of all messages to the last, without raw bytes', () => {
  const text = (content: string) => ({ kind: 'text', mime: 'text/plain', content }) as const
  const earlierMessages = [
    { ...message(), id: 'a', parts: [text('1'), text('2')] },
    { ...message(), id: 'b', parts: [] },
  ]
  const lastMessage = Object.defineProperty({ ...message(), id: 'c', parts: [text('3')] }, 'raw', {
    enumerable: true,
    get: () => {
      throw new Error('raw was read')
    },
  })
  const mergedMessage = mergeMessages(earlierMessages, lastMessage)
  expect(mergedMessage.id).toBe('c')
  expect(mergedMessage.parts).toEqual([text('1'), text('2'), text('3')])
  expect(mergedMessage.merged?.map(({ id, part_count }) => [id, part_count])).toEqual([
    ['a', 2],
    ['b', 0],
  ])
  expect(() => mergedMessage.raw).toThrow('raw was read')
  expect(mergeMessages([], lastMessage)).toBe(lastMessage)
})
