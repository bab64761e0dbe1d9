import type { Part } from '@postern/message'
import { expect, test } from 'vitest'
import { message } from '../../../test/messages.ts'
import type { Intake } from '../../ports/records/intake.ts'
import { readVisibleIntake } from './visible-intake.ts'

const hidden = '\u200b\u{e0041}'
const bytes_ref = { kind: 'url', url: 'https://peer.test/a' } as const

function intake(members: Partial<Intake['message']>, flags?: readonly string[]): Intake {
  return { message: message(members), ...(flags && { flags }) } as unknown as Intake
}

test('readVisibleIntake() removes invisible characters from every text of a message, and flags it', () => {
  const parts = [
    { kind: 'text', mime: 'text/plain', content: `a${hidden}b` },
    { kind: 'file', name: `c${hidden}.txt`, description: `d${hidden}`, bytes_ref },
    { kind: 'link', url: 'https://peer.test/', title: `e${hidden}` },
    { kind: 'artifact', data: { deep: [`f${hidden}`] }, bytes_ref },
    { kind: 'email', subject: `g${hidden}`, calendar: [{ summary: `h${hidden}` }] },
  ] as unknown as Part[]
  const { message: read, flags } = readVisibleIntake(intake({ parts }, ['edited']))
  expect(flags).toEqual(['edited', 'invisible_characters'])
  expect(JSON.stringify(read.parts)).not.toMatch(/\u200b|\udb40/)
  expect(read.parts).toMatchObject([{ content: 'ab' }, { name: 'c.txt', description: 'd' }, { title: 'e' }, {}, {}])
})

test('readVisibleIntake() makes ids, addresses, member names and all texts well-formed', () => {
  const half = '\ud83d'
  const parts = [{ kind: 'data', data: { [half]: [half] } }] as unknown as Part[]
  const received = { ...intake({ id: half, in_reply_to: half, parts }), duplicateKey: half, target: { [half]: half } }
  const read = readVisibleIntake(received as unknown as Intake)
  expect(read).toMatchObject({
    message: { id: '\ufffd', in_reply_to: '\ufffd', parts: [{ data: { '\ufffd': ['\ufffd'] } }] },
    duplicateKey: '\ufffd',
    target: { '\ufffd': '\ufffd' },
  })
  expect(read.flags).toBeUndefined()
})

test('readVisibleIntake() cleans display names, and omits an empty one', () => {
  const { sender } = message()
  const profile = { display_name: 'Ann\u202enimda', url: `https://peer.test/${hidden}` }
  const shown = readVisibleIntake(intake({ sender: { ...sender, display_name: 'Ann\u202enimda', profile } }))
  expect(shown.message.sender).toMatchObject({
    display_name: 'Annnimda',
    profile: { ...profile, display_name: 'Annnimda' },
  })
  expect(shown.flags).toEqual(['invisible_characters'])
  const nobody = readVisibleIntake(intake({ sender: { ...sender, display_name: '\u3164' } }))
  expect(nobody.message.sender).not.toHaveProperty('display_name')
})

test('readVisibleIntake() gives files safe names without a flag, and returns a clean message unchanged', () => {
  const cleaned = readVisibleIntake(intake({ parts: [{ kind: 'file', name: '../NUL.txt', bytes_ref }] }))
  expect(cleaned.message.parts).toEqual([{ kind: 'file', name: '_NUL.txt', bytes_ref }])
  expect(cleaned.flags).toBeUndefined()
  const plain = intake({ parts: [{ kind: 'text', mime: 'text/plain', content: 'שלום\u200f!' }] })
  expect(readVisibleIntake(plain)).toBe(plain)
})
