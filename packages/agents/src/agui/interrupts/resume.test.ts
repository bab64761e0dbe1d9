import { expect, test } from 'vitest'
import type { OpenInterrupt } from './open-interrupts.ts'
import { createResumeMembers } from './resume.ts'

const [one, two] = ['a'.repeat(32), 'b'.repeat(32)]

const answered = (id: string, via: OpenInterrupt['via'], payload: NonNullable<unknown> | null): OpenInterrupt =>
  ({ id, question: '', via, answer: { status: 'resolved', payload } }) as OpenInterrupt

const cancelled = (id: string, via: OpenInterrupt['via']): OpenInterrupt => ({
  id,
  question: '',
  via,
  answer: { status: 'cancelled' },
})
const sentinel = (id: string) => ({ __agui_cancelled__: true, interrupt_id: id })

test.each<[name: string, answers: readonly OpenInterrupt[], resume: unknown]>([
  ['a text', [answered(one, 'command', 'L')], 'L'],
  ['a text that looks like JSON', [answered(one, 'command', '4711')], '"4711"'],
  ['a value', [answered(one, 'command', { size: 'L' })], { size: 'L' }],
  ['null', [answered(one, 'command', null)], { [one]: null }],
  ['several', [answered(one, 'command', '4711'), answered(two, 'either', [1])], { [one]: '4711', [two]: [1] }],
  ['a cancelled one', [cancelled(one, 'command')], sentinel(one)],
  ['one of several', [answered(one, 'command', 'L'), cancelled(two, 'command')], { [one]: 'L', [two]: sentinel(two) }],
])('writeResume() sends LangGraph %s in `command`', (_what, answers, resume) => {
  expect(createResumeMembers(answers, { mode: 'x', command: { update: 1 } })).toEqual({
    forwardedProps: { mode: 'x', command: { update: 1, resume } },
  })
})

test.each<[name: string, answers: readonly OpenInterrupt[], resume: readonly object[]]>([
  ['a text', [answered('i', 'resume', '4711')], [{ interruptId: 'i', status: 'resolved', payload: '4711' }]],
  ['one of LangGraph', [answered(one, 'either', 'L')], [{ interruptId: one, status: 'resolved', payload: 'L' }]],
  [
    'several',
    [answered('i', 'resume', null), cancelled('j', 'resume')],
    [
      { interruptId: 'i', status: 'resolved', payload: null },
      { interruptId: 'j', status: 'cancelled' },
    ],
  ],
])('writeResume() sends %s in `resume`', (_what, answers, resume) => {
  expect(createResumeMembers(answers, { mode: 'x' })).toEqual({ forwardedProps: { mode: 'x' }, resume })
})

test('writeResume() adds neither `command` nor `resume` without answers', () => {
  expect(createResumeMembers([], { mode: 'x' })).toEqual({ forwardedProps: { mode: 'x' } })
})
