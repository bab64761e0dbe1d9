// Tests how the console exports and forgets people.
import { readFileSync } from 'node:fs'
import { sketchIntake } from '@postern/testing'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { PeopleTestGateway } from '../setup/people-gateway.ts'
import { openPeopleGateway } from '../setup/people-gateway.ts'
import type { ConsolePage } from './console-gateway.ts'
import { openChromium, openSignedIn } from './console-gateway.ts'

let people: PeopleTestGateway
let browser: Browser
let openedPage: ConsolePage
beforeAll(async () => {
  people = await openPeopleGateway()
  browser = await openChromium()
  const { gateway } = people
  openedPage = await openSignedIn(browser, { url: gateway.url(), code: gateway.gateway().createSignInCode() })
})
afterAll(async () => {
  await browser.close()
  await people.close()
})

interface Exported {
  readonly addresses: readonly string[]
  readonly links: readonly unknown[]
  readonly records: readonly { readonly number: number; readonly message: { readonly sender: { address: string } } }[]
}

async function exportPerson(address: string): Promise<Exported> {
  const { page, show } = openedPage
  await show(`people/${encodeURIComponent(address)}`)
  const button = page.getByRole('button', { name: 'Export' })
  await expect.poll(() => button.isEnabled()).toBe(true)
  const [download] = await Promise.all([page.waitForEvent('download', { timeout: 90_000 }), button.click()])
  return JSON.parse(readFileSync(await download.path(), 'utf8')) as Exported
}

test('an export contains all messages of a person beyond one page, and none of other people', async () => {
  const { store } = people.gateway.gateway()
  const messageCount = 520
  for (let index = 0; index < messageCount; index += 1)
    await store.admit(sketchIntake(`m${index}`, { disposition: 'keep' }), `c${index}`)
  const sender = {
    address: '@ada@peer.test.example',
    display_name: 'Ada',
    auth_method: 'none',
    verified: false,
  } as const
  await store.admit(sketchIntake('other', { disposition: 'keep', message: { sender } }), 'c')
  const { page, show } = openedPage
  await show(`people/${encodeURIComponent('@ada@peer.test')}`)
  await expect.poll(() => page.locator('.item.said').count()).toBe(199)
  await page.getByRole('button', { name: 'Older messages' }).click()
  await expect.poll(() => page.locator('.item.said').count()).toBe(399)
  const { records } = await exportPerson('@ada@peer.test')
  expect(new Set(records.map(({ number }) => number)).size).toBe(messageCount)
  expect(new Set(records.map(({ message }) => message.sender.address))).toEqual(new Set(['@ada@peer.test']))
})

async function forgetPerson(address: string): Promise<void> {
  const { page, show } = openedPage
  await show(`people/${encodeURIComponent(address)}`)
  await page.getByRole('heading', { name: address }).waitFor()
  await page.getByRole('button', { name: 'Forget' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Forget' }).click()
}
const saysToast = (text: string, kind = '') => openedPage.page.locator(`.toast${kind}`, { hasText: text }).waitFor()
const countOf = async (address: string) => {
  const { store } = people.gateway.gateway()
  return (await store.listMessages({ limit: 500, sender: address })).filter(({ sender }) => sender === address).length
}

test('the operator forgets an A2A caller, and the page reports the number of deleted messages', async () => {
  expect(await countOf('@ada@peer.test')).toBe(499)
  await forgetPerson('@ada@peer.test')
  await saysToast('Forgotten: 520 messages')
  await openedPage.page.getByText('They have not written').waitFor()
  expect([await countOf('@ada@peer.test'), await countOf('@ada@peer.test.example')]).toEqual([0, 1])
})

test('the operator forgets a person whose messages are beyond the first page', async () => {
  await people.askByMail('a mail from before', { from: 'carol@alice.test' })
  const { store } = people.gateway.gateway()
  const sender = { address: '@carol@alice.test.example', auth_method: 'none', verified: false } as const
  for (let index = 0; index < 210; index += 1)
    await store.admit(sketchIntake(`carol${index}`, { disposition: 'keep', message: { sender } }), `carol${index}`)
  await forgetPerson('@carol@alice.test')
  await saysToast('Forgotten: 1 message')
  expect(await countOf('@carol@alice.test')).toBe(0)
})

test('the screen says when there is nothing to forget', async () => {
  await forgetPerson('@nobody@nowhere.test')
  await saysToast('Nothing is deleted: the gateway has nothing of @nobody@nowhere.test', '.bad')
})

test('the operator exports and forgets the linked addresses of a person together', async () => {
  await people.linkMail()
  await people.askByMail('by mail')
  const alice = '@alice@mastodon.test'
  const { addresses, links, records } = await exportPerson(alice)
  expect(addresses.toSorted()).toEqual(['@alice@alice.test', alice])
  expect(links).toHaveLength(1)
  const senders = new Set(records.map(({ message }) => message.sender.address))
  expect([...senders].toSorted()).toEqual(['@alice@alice.test', alice])
  const { page } = openedPage
  const linked = page.getByRole('region', { name: 'Linked addresses' })
  await linked.getByRole('link', { name: 'alice@alice.test' }).first().waitFor()
  await page.getByRole('button', { name: 'Forget' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Forget' }).click()
  await page.getByText('They have not written').waitFor()
  await expect.poll(() => linked.count()).toBe(0)
  const remainingSenders = (await people.gateway.messages()).map(({ sender }) => sender)
  expect(remainingSenders.filter(sender => sender.startsWith('@alice'))).toEqual([])
  expect(openedPage.faults).toEqual([])
})
