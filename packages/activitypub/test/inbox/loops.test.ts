import { afterEach, expect, test } from 'vitest'
import { publicCollection } from '../../src/format/vocabulary.ts'
import { composeUpdate, echoActor } from '../activity.ts'
import type { PeerAccount } from '../person.ts'
import { composeNote, postActivity, settlePerson } from '../person.ts'
import type { Stage } from '../stage.ts'
import { openStage } from '../stage.ts'

// The numbers in the titles are rows of the ActivityPub bug history.

let stage: Stage

afterEach(() => stage.close())

async function statesOf(): Promise<readonly string[]> {
  return (await stage.listStoredMessages()).map(({ state, flags }) => [state, ...flags].join(' ')).toReversed()
}

test.each(['Service', 'Application'])('a %s gets a limited number of turns per thread and hour (AP-66)', async type => {
  stage = await openStage({ config: { bot_turns_per_hour: 2 } })
  const { gateway, peer } = stage
  const bot = settlePerson(peer, 'alice@good.test', { document: { type } })
  const say = (context: string) => postActivity(gateway, bot, composeNote(bot, { context }))
  for (const thread of ['https://good.test/a', 'https://good.test/a', 'https://good.test/a', 'https://good.test/b']) {
    expect(await say(thread)).toMatchObject({ status: 202 })
  }
  expect(await statesOf()).toEqual([
    'received from_agent',
    'received from_agent',
    'ignored from_agent loop_guard',
    'received from_agent',
  ])
  gateway.system.advance(61 * 60_000)
  await say('https://good.test/a')
  expect((await statesOf()).at(-1)).toBe('received from_agent')
})

test('the limit is ten turns by default, without edits of waiting messages (AP-66)', async () => {
  stage = await openStage()
  const { gateway, peer } = stage
  const bot = settlePerson(peer, 'alice@good.test', { document: { type: 'Service' } })
  const context = 'https://good.test/a'
  const first = composeNote(bot, { context })
  await postActivity(gateway, bot, first)
  for (let count = 1; count < 11; count += 1) {
    await postActivity(gateway, bot, composeUpdate(bot, first, { content: 'x', context }))
    await postActivity(gateway, bot, composeNote(bot, { context }))
  }
  expect((await statesOf()).filter(state => state.startsWith('received'))).toHaveLength(10)
  expect((await statesOf()).at(-1)).toBe('ignored from_agent loop_guard')
})

test('people do not count towards the limit, even in a machine’s thread (AP-66)', async () => {
  stage = await openStage({ config: { bot_turns_per_hour: 0 } })
  const { gateway, peer, alice } = stage
  const bot = settlePerson(peer, 'bob@good.test', { key: alice.key, document: { type: 'Service' } })
  const note = { context: 'https://good.test/a' }
  await postActivity(gateway, bot, composeNote(bot, note))
  await postActivity(gateway, alice, composeNote(alice, note))
  expect(await statesOf()).toEqual(['ignored from_agent loop_guard', 'received'])
})

test('a post that mentions 200 people does not reach the agents (AP-66)', async () => {
  stage = await openStage()
  const { gateway, alice } = stage
  const otherUsers = (count: number) => Array.from({ length: count }, (_, at) => `https://other.test/users/${at}`)
  const calling = (count: number) => {
    const tag = [echoActor, ...otherUsers(count - 1)].map(href => ({ type: 'Mention', href }))
    return composeNote(alice, { to: [publicCollection], cc: otherUsers(count - 1), tag })
  }
  await postActivity(gateway, alice, calling(50))
  await postActivity(gateway, alice, calling(51))
  await postActivity(gateway, alice, calling(200))
  expect(await statesOf()).toEqual(['received', 'ignored mass_mention', 'ignored mass_mention'])
})

/** Posts once the answer to the previous post is stored. */
async function sayAfterAnswer({ gateway }: Stage, person: PeerAccount, pauseMs: number): Promise<void> {
  const settled = async () => (await statesOf()).filter(state => state === 'answered' || state.startsWith('ignored'))
  const before = (await statesOf()).length
  await expect.poll(settled).toHaveLength(before)
  gateway.system.advance(pauseMs)
  await postActivity(gateway, person, composeNote(person, { context: 'https://good.test/talk' }))
}

test('a sender who always answers within seconds counts as a machine (AP-66)', async () => {
  stage = await openStage({ config: { rapid_turns_per_hour: 3 } })
  stage.gateway.work()
  for (let count = 0; count < 6; count += 1) await sayAfterAnswer(stage, stage.alice, 0)
  await expect
    .poll(statesOf)
    .toEqual(['answered', 'answered', 'answered', 'answered', 'ignored loop_guard', 'ignored loop_guard'])
})

test('a sender who takes time to read counts as a person, however much they write (AP-66)', async () => {
  stage = await openStage({ config: { rapid_turns_per_hour: 1 } })
  stage.gateway.work()
  for (let count = 0; count < 6; count += 1) await sayAfterAnswer(stage, stage.alice, 3_500)
  await expect.poll(async () => new Set(await statesOf())).toEqual(new Set(['answered']))
})

test('many messages in a row are no loop (AP-66)', async () => {
  stage = await openStage({ config: { rapid_turns_per_hour: 1 } })
  const { gateway, alice } = stage
  for (let count = 0; count < 6; count += 1)
    await postActivity(gateway, alice, composeNote(alice, { context: 'https://good.test/talk' }))
  expect(new Set(await statesOf())).toEqual(new Set(['received']))
})
