import { afterAll, beforeAll, expect, test } from 'vitest'
import type { MailGateway } from '../setup/gateway.ts'
import { openMailGateway } from '../setup/gateway.ts'
import { judgeDispositions } from '../setup/judge-dispositions.ts'

let gateway: MailGateway
beforeAll(async () => {
  // The recorded mails do not name the agent in To, so the gateway must accept blind copies.
  gateway = await openMailGateway({ config: { answer_bcc: true } })
})
afterAll(() => gateway.close())

test('the gateway answers all 100 personal mails, from 25 programs in 25 languages (EM-62)', async () => {
  const folder = new URL('../../../../fixtures/email/personal/', import.meta.url)
  const dispositions = await judgeDispositions(gateway, folder)
  expect(dispositions).toHaveLength(100)
  expect(dispositions.filter(({ disposition }) => disposition !== 'answered')).toEqual([])
})
