import type { FetchRequest, GuardedFetch } from '@postern/message'
import { createFixedSecrets } from '@postern/testing'
import { expect, test } from 'vitest'
import { openRehearsals, rehearsalField } from './rehearsals.ts'

async function openPasses(key = 'key') {
  const clock = { now: Date.UTC(2026, 5, 1) }
  const rehearsals = await openRehearsals(createFixedSecrets(key), () => clock.now)
  const passes: string[] = []
  const fetch = rehearsals.withPass(
    (async (_url: string, request?: FetchRequest) => {
      passes.push(request?.headers?.[rehearsalField] ?? '')
    }) as unknown as GuardedFetch,
    'refused',
  )
  const makePass = async () => {
    await fetch('https://agents.test/inbox', { headers: { date: 'today' } })
    return passes.at(-1) ?? ''
  }
  return { ...rehearsals, clock, makePass }
}

test('a pass is valid once, for half a minute', async () => {
  const { consume, makePass, clock } = await openPasses()
  const [pass, latePass] = [await makePass(), await makePass()]
  expect([consume(pass), consume(pass)]).toEqual(['refused', undefined])
  clock.now += 30_001
  expect(consume(latePass)).toBeUndefined()
})

test('a forged or changed pass is not valid', async () => {
  const { consume, makePass, clock } = await openPasses()
  const foreignPasses = await openPasses('another key')
  const pass = await makePass()
  const changedPass = pass.replace(/\d+/, String(clock.now + 60_000))
  const passWithOtherEnd = pass.replace('refused', 'taken')
  expect([await foreignPasses.makePass(), changedPass, passWithOtherEnd, `${pass}A`, '', 'x.y.z'].map(consume)).toEqual(
    Array(6).fill(undefined),
  )
  expect(consume(pass)).toBe('refused')
})
