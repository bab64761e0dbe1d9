// Tests the console's screen of deliveries, hosts and suppressions.
import { disturbances } from '@postern/simulation'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { operatorToken } from '../setup/gateway.ts'
import type { ConsoleGateway, ConsolePage } from './console-gateway.ts'
import { openConsoleGateway } from './console-gateway.ts'

let gateway: ConsoleGateway
let openedPage: ConsolePage
let page: Page
beforeAll(async () => {
  gateway = await openConsoleGateway()
  openedPage = await gateway.openPage()
  ;({ page } = openedPage)
  await openedPage.show('deliveries')
  await page.getByText('Everything is delivered').waitFor()
})
afterAll(() => gateway.close())

const postAbout = (host: string) =>
  gateway.simulation.send({ via: 'activitypub', to: 'desk', text: 'Hello', from: `alice@${host}`, timeoutMs: 1 })
const panelOf = (host: string) => page.getByRole('region', { name: host, exact: true })

interface ListedHost {
  readonly host: string
  readonly breaker: string
  readonly open_until?: string
  readonly retry_after?: string
}

async function findHost(host: string): Promise<ListedHost | undefined> {
  const headers = { authorization: `Bearer ${operatorToken}` }
  const response = await fetch(`${gateway.url}/operator/api/hosts`, { headers })
  return ((await response.json()) as { hosts: ListedHost[] }).hosts.find(candidate => candidate.host === host)
}

test('the screen shows a rate-limiting host with its Retry-After time, and the deliveries that wait for it', async () => {
  const host = 'gotosocial.test'
  const busy = { answer: { status: 503, headers: { 'retry-after': '3600' } }, method: 'POST' }
  const endBusy = gateway.simulation.fediverse.disturb(host, busy)
  await postAbout(host)
  const panel = panelOf(host)
  await expect
    .poll(() => panel.textContent())
    .toMatch(/asked for time1 delivery · next attempt in \d+ (min|h).*Retry-After: nothing is sent to it before/)
  await expect.poll(() => panel.locator('.item').textContent()).toMatch(/503.*1 attempt · next in/)
  const listedHost = await findHost(host)
  expect(listedHost?.breaker).toBe('closed')
  expect(Date.parse(listedHost?.retry_after ?? '') - Date.now()).toBeGreaterThan(3_000_000)
  endBusy()
})

test('the screen says until when the gateway pauses a silent host', async () => {
  const host = 'rfc9421.test'
  const endSilence = gateway.simulation.fediverse.disturb(host, { ...disturbances.down, method: 'POST' })
  for (let count = 0; count < 6; count += 1) await postAbout(host)
  const panel = panelOf(host)
  await expect.poll(() => panel.textContent()).toMatch(/left alone6 deliveries.*One attempt goes out in \d+ min/)
  await expect.poll(() => panel.locator('.item').count()).toBe(6)
  expect(await findHost(host)).toMatchObject({ breaker: 'open', open_until: expect.any(String) })
  endSilence()
})

test('the list shows a bouncing address with its reason, and the operator lifts the suppression', async () => {
  const refusal = { code: 550, message: '5.1.1 no such user', at: 'rcpt', times: 1 } as const
  const endRefusal = gateway.simulation.mail.refuse(refusal)
  await gateway.simulation.send({ via: 'email', to: 'desk', text: 'Are you there?', timeoutMs: 1 })
  const panel = page.getByRole('region', { name: 'Suppressed addresses' })
  await expect.poll(() => panel.locator('.item').textContent()).toMatch(/alice@alice\.test.*from desk: .*550 5\.1\.1/)
  endRefusal()
  await panel.getByRole('button', { name: 'Lift the suppression of alice@alice.test' }).click()
  await expect.poll(() => panel.count()).toBe(0)
  const dead = page.getByRole('region', { name: 'Dead letters' })
  await dead.getByRole('checkbox', { name: 'Dead letters' }).check()
  await dead.getByRole('button', { name: 'Retry 1' }).click()
  await expect.poll(() => dead.count()).toBe(0)
  const states = async () =>
    (await gateway.gateway.store.listDeliveries({ limit: 50 })).filter(({ via }) => via === 'email')
  await expect.poll(async () => (await states()).map(({ state }) => state)).toEqual(['sent'])
})

const mailDeliveries = async () =>
  (await gateway.gateway.store.listDeliveries({ limit: 50 })).filter(({ via }) => via === 'email')
/** Retries deliveries from a list that is older than the gateway's own. */
const retryAll = (ids: readonly string[]) =>
  page.evaluate(`(async () => {
    const { changeAll } = await import('/operator/app/screens/deliveries/change.js')
    let refreshed = 0
    await changeAll(${JSON.stringify(ids.map(id => ({ id })))}, 'retry', () => { refreshed += 1 })
    return refreshed
  })()`)

test('the console moves to the next delivery when one succeeds or fails', async () => {
  const endRefusal = gateway.simulation.mail.refuse({ code: 451, message: '4.7.1 greylisted', at: 'rcpt' })
  for (const text of ['first', 'second'])
    await gateway.simulation.send({ via: 'email', to: 'desk', text, timeoutMs: 1 })
  const listLate = async () => (await mailDeliveries()).filter(({ state }) => state === 'later').map(({ id }) => id)
  await expect.poll(async () => (await listLate()).length).toBe(2)
  endRefusal()
  const [sentId = ''] = (await mailDeliveries()).filter(({ state }) => state === 'sent').map(({ id }) => id)
  const [oneId = '', otherId = ''] = await listLate()
  await page.route(`**/deliveries/${oneId}/retry`, route => route.abort())
  expect(await retryAll([sentId, oneId, otherId])).toBe(1)
  await page.getByText('1 delivery is tried again').last().waitFor()
  await page.getByText('1 delivery is not tried again: The gateway does not answer').waitFor()
  await expect.poll(listLate).toEqual([oneId])
  await page.unroute(`**/deliveries/${oneId}/retry`)
  expect(await retryAll([oneId])).toBe(1)
  await expect.poll(listLate).toEqual([])
  expect(await retryAll([oneId, otherId, sentId])).toBe(1)
  await page.getByText('There was nothing left to change').waitFor()
  expect(openedPage.faults).toEqual([])
})
