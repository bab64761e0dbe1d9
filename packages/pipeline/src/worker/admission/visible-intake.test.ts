import type { Part } from '@postern/message'
import { expect, test } from 'vitest'
import { message } from '../../../test/messages.ts'
import type { Intake } from '../../ports/records/intake.ts'
import { readVisibleIntake } from './visible-intake.ts'

const invisibleText = '\u200b\u{e0041}'
const bytes_ref = { kind: 'url', url: 'https://peer.test/a' } as const

function intake(members: Partial<Intake['message']>, flags?: readonly string[]): Intake {
  return { message: message(members), ...(flags && { flags }) } as unknown as Intake
}

test('readVisibleIntake() removes invisible characters from every text of a message, and flags it', () => {
  const parts = [
    { kind: 'text', mime: 'text/plain', content: `a${invisibleText}b` },
    { kind: 'file', name: `c${invisibleText}.txt`, description: `d${invisibleText}`, bytes_ref },
    { kind: 'link', url: 'https://peer.test/', title: `e${invisibleText}` },
    { kind: 'artifact', data: { deep: [`f${invisibleText}`] }, bytes_ref },
    { kind: 'email', subject: `g${invisibleText}`, calendar: [{ summary: `h${invisibleText}` }] },
  ] as unknown as Part[]
  const { message: visibleMessage, flags } = readVisibleIntake(intake({ parts }, ['edited']))
  expect(flags).toEqual(['edited', 'invisible_characters'])
  expect(JSON.stringify(visibleMessage.parts)).not.toMatch(/\u200b|\udb40/)
  expect(visibleMessage.parts).toMatchObject([
    { content: 'ab' },
    { name: 'c.txt', description: 'd' },
    { title: 'e' },
    {},
    {},
  ])
})

test('readVisibleIntake() makes ids, addresses, member names and all texts well-formed', () => {
  const half = '\ud83d'
  const parts = [{ kind: 'data', data: { [half]: [half] } }] as unknown as Part[]
  const malformedIntake = {
    ...intake({ id: half, in_reply_to: half, parts }),
    duplicateKey: half,
    target: { [half]: half },
  }
  const visibleIntake = readVisibleIntake(malformedIntake as unknown as Intake)
  expect(visibleIntake).toMatchObject({
    message: { id: '\ufffd', in_reply_to: '\ufffd', parts: [{ data: { '\ufffd': ['\ufffd'] } }] },
    duplicateKey: '\ufffd',
    target: { '\ufffd': '\ufffd' },
  })
  expect(visibleIntake.flags).toBeUndefined()
})

test('readVisibleIntake() cleans display names, and omits an empty one', () => {
  const { sender } = message()
  const profile = { display_name: 'Ann\u202enimda', url: `https://peer.test/${invisibleText}` }
  const visibleIntake = readVisibleIntake(intake({ sender: { ...sender, display_name: 'Ann\u202enimda', profile } }))
  expect(visibleIntake.message.sender).toMatchObject({
    display_name: 'Annnimda',
    profile: { ...profile, display_name: 'Annnimda' },
  })
  expect(visibleIntake.flags).toEqual(['invisible_characters'])
  const namelessIntake = readVisibleIntake(intake({ sender: { ...sender, display_name: '\u3164' } }))
  expect(namelessIntake.message.sender).not.toHaveProperty('display_name')
})

test('readVisibleIntake() gives files safe names without a flag, and returns a clean message unchanged', () => {
  const cleanedIntake = readVisibleIntake(intake({ parts: [{ kind: 'file', name: '../NUL.txt', bytes_ref }] }))
  expect(cleanedIntake.message.parts).toEqual([{ kind: 'file', name: '_NUL.txt', bytes_ref }])
  expect(cleanedIntake.flags).toBeUndefined()
  const plainIntake = intake({ parts: [{ kind: 'text', mime: 'text/plain', content: 'שלום\u200f!' }] })
  expect(readVisibleIntake(plainIntake)).toBe(plainIntake)
})
