import { readMail } from '@postern/simulation'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { TestGateway } from '../setup/gateway.ts'
import { eventually, openTestGateway } from '../setup/gateway.ts'

let gateway: TestGateway

beforeAll(async () => {
  gateway = await openTestGateway(() => ({
    agents: { courier: { use: '../agents/calling/courier.ts' } },
    email: { listen: { port: 0, protocol: 'smtp' }, write_to: ['alice.test'] },
  }))
})
afterAll(() => gateway.close())

let count = 0
/** Has the agent write to Carol, who has not asked for it. */
async function sendErrand(): Promise<void> {
  count += 1
  const to = 'courier@agents.test'
  const mail = await gateway.simulation.mail.compose({ to, text: `mail:@carol@alice.test News ${count}.` })
  expect((await gateway.simulation.mail.sendSmtp(mail)).code).toBe(250)
}

const findNews = (issue: number) =>
  eventually(async () => gateway.simulation.mail.received.find(({ text }) => text?.includes(`News ${issue}.`)))

test('one click in an unsolicited mail permanently ends such mails to its recipient', async () => {
  await sendErrand()
  const { octets } = await findNews(1)
  const [field = ''] = readMail(octets).headers.get('list-unsubscribe') ?? []
  const link = new URL(field.slice(1, -1))
  expect(link.origin).toBe('https://agents.test')
  const init = {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: 'List-Unsubscribe=One-Click',
  }
  expect((await fetch(gateway.url() + link.pathname, { ...init, redirect: 'manual' })).status).toBe(200)
  await gateway.restart()
  await sendErrand()
  const dead = await eventually(async () =>
    (await gateway.deliveries()).find(({ to, state }) => to === 'carol@alice.test' && state === 'dead'),
  )
  expect(JSON.stringify(dead)).toContain('unsubscribed')
  expect(gateway.simulation.mail.received.some(({ text }) => text?.includes('News 2.'))).toBe(false)
})
