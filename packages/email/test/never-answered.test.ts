import { readdirSync, readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { MailHouse } from './house.ts'
import { domain, openMailHouse } from './house.ts'

let house: MailHouse
beforeAll(async () => {
  // They are to others: who wrote them has to decide, not to whom.
  house = await openMailHouse({ config: { answer_unaddressed: true } })
})
afterAll(() => house.close())

interface Fate {
  readonly file: string
  /** `refused`: with a code; `kept`: with flags; `answered`: the agent would get a turn. */
  readonly fate: 'refused' | 'kept' | 'answered'
  readonly why: readonly string[]
}

function listFixtures(folder: string): readonly URL[] {
  const root = new URL(`../../../fixtures/email/${folder}/`, import.meta.url)
  const names = readdirSync(root).filter(name => name.endsWith('.eml'))
  return names.sort().map(name => new URL(name, root))
}

/** Through the door as an MTA would bring it: without the line mbox files begin with, MAIL FROM as the last hop wrote it down. */
async function judgeFixture(url: URL): Promise<Fate> {
  const octets = Buffer.from(readFileSync(url, 'latin1').replace(/^From .*\r?\n/, ''), 'latin1')
  const file = url.pathname.split('/').at(-1) ?? ''
  const from = /^Return-Path:\s*<?([^<>\s]*)>?/im.exec(octets.toString('latin1').split(/\r?\n\r?\n/, 1)[0] ?? '')?.[1]
  const envelope = { to: `echo@${domain}`, ...(from !== undefined && { from }) }
  const before = (await house.desk.count()).messages
  const answer = await house.post(octets, envelope)
  if (answer.status !== 200) return { file, fate: 'refused', why: [answer.body.detail ?? ''] }
  const after = (await house.desk.count()).messages
  const [summary] = await house.desk.listMessages({ limit: 1 })
  const record = summary && (await house.desk.findMessage(`#${summary.message}`))
  return { file, fate: after.received > before.received ? 'answered' : 'kept', why: record?.flags ?? [] }
}

async function judgeAll(folder: string): Promise<readonly Fate[]> {
  const fates: Fate[] = []
  for (const url of listFixtures(folder)) fates.push(await judgeFixture(url))
  return fates
}

test('row 62: of 629 bounces, complaints and vacation notices of other servers at least 613 are never answered', async () => {
  const fates = await judgeAll('sisimai')
  const count = (fate: Fate['fate']) => fates.filter(each => each.fate === fate).length
  const answered = fates.filter(({ fate }) => fate === 'answered').map(({ file }) => file)
  process.stdout.write(
    `sisimai: ${count('kept')} kept, ${count('refused')} refused, of ${fates.length}; answered: ${answered.join(', ')}\n`,
  )
  expect(fates).toHaveLength(629)
  expect(count('kept') + count('refused')).toBeGreaterThanOrEqual(613)
  expect(count('kept')).toBeGreaterThanOrEqual(560)
}, 120_000)

test('row 62: of 100 mails of people, from 25 programs in 25 languages, none is suppressed', async () => {
  const fates = await judgeAll('personal')
  expect(fates).toHaveLength(100)
  expect(fates.filter(({ fate }) => fate !== 'answered')).toEqual([])
})
