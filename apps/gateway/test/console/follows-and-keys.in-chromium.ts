// Tests the decisions on follow requests and the rotation of keys in the console.
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ConsoleGateway, ConsolePage } from './console-gateway.ts'
import { openConsoleGateway } from './console-gateway.ts'

let gateway: ConsoleGateway
let openedPage: ConsolePage
let page: Page
beforeAll(async () => {
  gateway = await openConsoleGateway({ activitypub: { follows: 'manual' } })
  openedPage = await gateway.openPage()
  ;({ page } = openedPage)
})
afterAll(() => gateway.close())

const follow = (from: string) => gateway.simulation.fediverse.send({ to: '@desk@agents.test', type: 'Follow', from })
const listFollowers = async () =>
  (
    await gateway.gateway.store.listRelations({ via: 'activitypub', agent: 'desk', relation: 'follower', limit: 9 })
  ).map(({ peer }) => peer)
const answersTo = (type: string) =>
  gateway.simulation.fediverse.received.filter(({ activity }) => activity.type === type).length

test('a new follower waits for the operator and learns the decision', async () => {
  await openedPage.show('waiting')
  await page.getByText('Nothing waits for you').waitFor()
  await follow('alice@mastodon.test')
  await follow('bob@gotosocial.test')
  const panel = page.getByRole('region', { name: 'Follow requests' })
  await expect.poll(() => panel.locator('.item').count()).toBe(2)
  expect(await page.getByText('Nothing waits for you').count()).toBe(0)
  const alice = panel.locator('.item').filter({ hasText: 'mastodon.test' })
  await alice.getByRole('button', { name: 'Accept' }).click()
  await expect.poll(() => panel.locator('.item').count()).toBe(1)
  await panel.getByRole('button', { name: 'Reject' }).click()
  await page.getByText('Nothing waits for you').waitFor()
  expect(await listFollowers()).toEqual([expect.stringContaining('mastodon.test')])
  await expect.poll(() => [answersTo('Accept'), answersTo('Reject')]).toEqual([1, 1])
})

test('the operator rotates keys after a confirmation, and the list shows the new ones', async () => {
  await openedPage.show('settings')
  await page.getByRole('tab', { name: 'keys' }).click()
  const panel = page.getByRole('region', { name: 'Public keys' })
  const listIds = () => panel.locator('.item code').allTextContents()
  await expect.poll(async () => (await listIds()).length).toBeGreaterThan(2)
  const idsBefore = await listIds()
  await page.getByRole('button', { name: 'Rotate all' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
  expect(await listIds()).toEqual(idsBefore)
  await page.getByRole('button', { name: 'Rotate all' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Rotate' }).click()
  await page.getByText('There are new keys').waitFor()
  await expect.poll(async () => (await listIds()).filter(id => !idsBefore.includes(id)).length).toBeGreaterThan(0)
  expect((await listIds()).filter(id => idsBefore.includes(id)).length).toBeGreaterThan(0)
  await expect.poll(() => panel.locator('.item').first().textContent()).toMatch(/rsa-sha256 · .*\d\d:\d\d/)
  const { status } = await gateway.simulation.send({ via: 'email', to: 'desk', text: 'after the rotation' })
  expect(status).toBe('answered')
})

test('the operator revokes stolen keys at once', async () => {
  const panel = page.getByRole('region', { name: 'Public keys' })
  const textsBefore = await panel.locator('.item code').allTextContents()
  await page.getByRole('button', { name: 'Somebody has a key: revoke' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
  await expect
    .poll(
      async () => (await panel.locator('.item code').allTextContents()).filter(id => textsBefore.includes(id)).length,
    )
    .toBeLessThan(textsBefore.length)
  expect(openedPage.faults).toEqual([])
})
