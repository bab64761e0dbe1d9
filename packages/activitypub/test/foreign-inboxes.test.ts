import type { Delivery } from '@postern/core'
import { Unavailable } from '@postern/core'
import { afterEach, expect, test } from 'vitest'
import { composeNote, postActivity, settlePerson } from './person.ts'
import type { Stage } from './stage.ts'
import { openStage } from './stage.ts'

let stage: Stage
afterEach(() => stage.close())

/** What comes of an answer to somebody of evil.test whose inbox is there. */
async function answerTo(inbox: string): Promise<unknown> {
  stage = await openStage()
  const { peer, house } = stage
  peer.serve(inbox, { status: 503 })
  const endpoints = undefined
  const eve = settlePerson(peer, 'eve@evil.test', { key: stage.mallory.key, document: { inbox, endpoints } })
  const { channel, desk } = house
  let failed: unknown
  await postActivity(house, eve, composeNote(eve))
  const prepare = channel.prepare.bind(channel)
  Object.assign(channel, {
    prepare(delivery: Delivery) {
      const prepared = prepare(delivery)
      async function transmit() {
        try {
          return await prepared.transmit()
        } catch (error) {
          failed = error
          throw error
        }
      }
      return { ...prepared, transmit }
    },
  })
  house.work()
  await expect.poll(async () => (await desk.listDeliveries({ limit: 1 }))[0]?.state, { timeout: 5_000 }).toBe('later')
  return failed
}

test('42: who names an inbox on a host of others does not have that host left alone', async () => {
  const failed = await answerTo('https://good.test/always-busy')
  expect(failed).toBeInstanceOf(Unavailable)
  expect(failed).toMatchObject({ isHearsay: true, status: 503, message: 'Cannot deliver: the inbox answered 503' })
})

test('an inbox on the own host of its actor tells how that host is', async () => {
  expect(await answerTo('https://evil.test/busy')).toMatchObject({ isHearsay: false, status: 503 })
})
