import type { AnsweredTurn, ChannelContext } from '@postern/pipeline'
import { describe, expect, test } from 'vitest'
import { packTarget } from '../outgoing/target.ts'
import { createCorrespondentFinder, refuseMailReply } from './unasked-rules.ts'

const now = Date.UTC(2026, 0, 31)
const daysAgo = (days: number) => new Date(now - days * 86_400_000).toISOString()

interface PriorMessage {
  readonly verified?: boolean
  readonly at?: string
  readonly flags?: readonly string[]
  readonly isSilent?: boolean
  readonly mailbox?: string
}

function findRefusal(
  write_to: readonly string[],
  { verified = true, at = daysAgo(1), flags = [], isSilent = false, mailbox = 'ann@peer.test' }: PriorMessage = {},
) {
  const target = packTarget({
    mailbox,
    subject: 'x',
    references: [],
    ...(isSilent && { is_silent: true }),
  })
  const content = { sender: { address: '@ann@peer.test', verified }, received_at: at }
  const turn = { target, content, flags } as unknown as AnsweredTurn['turn']
  return refuseMailReply({ turn }, { write_to, write_to_days: 30 }, now)
}

describe('refuseMailReply()', () => {
  test('lets an agent continue with addresses of the operator, and with proven people who wrote within the time', () => {
    expect(findRefusal(['ann@peer.test'], { verified: false, at: daysAgo(400) })).toBeUndefined()
    expect(findRefusal(['peer.test'], { verified: false })).toBeUndefined()
    expect(findRefusal(['correspondents'])).toBeUndefined()
  })

  test('names the violated rule', () => {
    expect(findRefusal([])).toMatchObject({ code: 'forbidden', key: 'email.write_to' })
    expect(String(findRefusal([]))).toContain('"correspondents"')
    for (const entry of [{ verified: false }, { at: daysAgo(31) }, { flags: ['by_list'] }]) {
      expect(findRefusal(['correspondents'], entry)).toMatchObject({ code: 'forbidden', key: 'email.write_to_days' })
    }
    expect(findRefusal(['correspondents'], { mailbox: 'bob@peer.test' })).toMatchObject({ key: 'email.write_to_days' })
    expect(String(findRefusal(['correspondents'], { at: daysAgo(31) }))).toContain(
      'within 30 days (email.write_to_days)',
    )
    expect(findRefusal(['peer.test'], { isSilent: true })).toMatchObject({ code: 'no_recipient' })
  })
})

test('createCorrespondentFinder() finds people who wrote within the time, and skips the query otherwise', async () => {
  const writtenAt: Readonly<Record<string, string>> = { 'v:ann@peer.test': daysAgo(29), 'v:bob@peer.test': daysAgo(31) }
  const store = { findLastMessageTime: async ({ scope }: { scope: string }) => writtenAt[scope] }
  const deps = { store, system: { now: () => now } } as unknown as Pick<ChannelContext, 'store' | 'system'>
  const find = createCorrespondentFinder({ write_to: ['correspondents'], write_to_days: 30 }, deps)
  const mentions = ['@Ann@peer.test', '@bob@peer.test', '@eve@peer.test', 'nobody']
  expect(await find?.('desk', mentions)).toEqual(new Set(['ann@peer.test']))
  expect(createCorrespondentFinder({ write_to: ['peer.test'], write_to_days: 30 }, deps)).toBeUndefined()
})
