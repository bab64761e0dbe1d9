import { afterEach, describe, expect, test } from 'vitest'
import type { Document, PayloadReading, PayloadStage } from './payloads.ts'
import { openPayloadStage, readPayloadActors, readPayloadCases, readSnacCase } from './payloads.ts'

// The activities of many kinds of servers are read as expected. A person has checked each `expected.json`.

let stage: PayloadStage | undefined

afterEach(() => stage?.close())

async function play(
  actors: readonly Document[],
  activities: readonly Document[],
  posts: readonly string[] = [],
): Promise<PayloadReading> {
  stage = await openPayloadStage(actors)
  await stage.post(posts)
  return JSON.parse(JSON.stringify(await stage.play(activities))) as PayloadReading
}

describe.each(['shapes', 'captures'])('%s', folder => {
  const actors = readPayloadActors(folder)

  test.each(readPayloadCases(folder))('$title', async ({ activities, expected }) => {
    expect(await play(actors, activities)).toEqual(expected)
  })
})

test('the gateway handles captures of snac2 in their order', async () => {
  const { actors, activities, posts, expected } = readSnacCase()
  expect(await play(actors, activities, posts)).toEqual(expected)
})

test('a conversation of six servers is one thread, although each names it differently', () => {
  const conversation = readPayloadCases('shapes').find(({ title }) => title.includes('conversation'))
  const { messages = [] } = conversation?.expected ?? {}
  expect(new Set(messages.map(({ thread }) => thread))).toEqual(new Set([1]))
  expect(new Set(messages.map(({ from }) => String(from).split('@').at(-1))).size).toBe(6)
})
