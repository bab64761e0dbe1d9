import { expect, test } from 'vitest'
import { chooseMentions } from './choose-mentions.ts'

const limits = { excluded: ['@me@a.test', '@alice@b.test'], maxMentions: 3 }

test('an answer wakes each mentioned agent once, except its own agent and the sender (MN-8.1)', () => {
  const mentions = ['@Me@A.test', 'acct:alice@b.test', '@bob@c.test', 'bob@c.test', 'acct:BOB@C.test', '@carol@d.test']
  expect(chooseMentions(mentions, limits)).toEqual(['@bob@c.test', '@carol@d.test'])
})

test('chooseMentions() returns no more mentions than the limit, and ignores texts that are not addresses', () => {
  const mentions = ['@x', 'https://c.test/u/bob', '', '@1@c.test', '@2@c.test', '@3@c.test', '@4@c.test']
  expect(chooseMentions(mentions, limits)).toEqual(['@1@c.test', '@2@c.test', '@3@c.test'])
})
